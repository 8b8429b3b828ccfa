COPY (
  SELECT * FROM catalogue ORDER BY id
) TO $file (FORMAT parquet, COMPRESSION snappy, PARQUET_VERSION v1);
