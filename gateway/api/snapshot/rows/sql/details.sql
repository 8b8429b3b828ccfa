-- What the rows of one indicator have besides figures and rank, for some countries within a range of years.
SELECT iso3, year, status, rank_delta_1y, rank_lo, rank_hi
FROM read_parquet($file)
WHERE list_contains($countries, iso3) AND year BETWEEN $from AND $to
