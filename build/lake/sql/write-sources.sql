COPY (
  SELECT * FROM sources ORDER BY url, reference
) TO $file (FORMAT parquet, COMPRESSION zstd);
