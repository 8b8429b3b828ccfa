-- How many rows a file of observations has: read from its footer.
SELECT count(*)::INTEGER FROM read_parquet($file)
