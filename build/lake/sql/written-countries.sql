-- The countries with a row in a file of observations.
SELECT DISTINCT iso3 FROM read_parquet($file)
