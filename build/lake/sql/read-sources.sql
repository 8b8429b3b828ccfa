SELECT * FROM read_parquet($file) ORDER BY url, reference, sha256;
