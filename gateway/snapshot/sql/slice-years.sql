-- The rows of one indicator within a range of years, for every country. Columns are those of slice-filtered.sql.
SELECT iso3, year, value, ci_lo, ci_hi, rank, rank_delta_1y, projected
FROM read_parquet($file)
WHERE year BETWEEN $from AND $to
