-- The list of one run; lists of earlier versions have fewer columns.
SELECT * FROM read_parquet($file) ORDER BY url, reference, sha256;
