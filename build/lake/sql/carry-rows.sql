-- Adds the last good rows of series that could not be read in this run: those from number $first_carried on.
INSERT INTO lake_rows
SELECT series, iso3, year, value, ci_lo, ci_hi, projected, status
FROM read_parquet($previous)
JOIN lake_series ON slug = indicator
WHERE series >= $first_carried;
