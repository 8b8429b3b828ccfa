-- All rows of one indicator in the order of their leaves, which is the order of the file.
SELECT iso3, year, value, ci_lo, ci_hi, status, coalesce(projected, false) AS projected
FROM read_parquet($file)
