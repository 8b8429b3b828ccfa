-- The rows of one indicator within a range of years, for every country: the columns of columns-by-country.sql, and
-- rank_delta_1y, which rankings show.
SELECT iso3, year, value, ci_lo, ci_hi, rank, projected, rank_delta_1y
FROM read_parquet($file)
WHERE year BETWEEN $from AND $to
