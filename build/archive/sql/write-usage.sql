COPY (
  SELECT * FROM usage_counts ORDER BY account_id, route
) TO $file (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 40960);
