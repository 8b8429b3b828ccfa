-- The rows of one indicator within a range of years, for every country. Columns are those of slice-filtered.sql, and
-- the change of rank, which rankings show.
SELECT iso3, year, value, ci_lo, ci_hi, rank, projected, rank_delta_1y
FROM read_parquet($file)
WHERE year BETWEEN $from AND $to
