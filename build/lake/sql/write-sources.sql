COPY (
  SELECT * FROM sources ORDER BY url, reference, sha256
) TO $file (FORMAT parquet, COMPRESSION zstd);
