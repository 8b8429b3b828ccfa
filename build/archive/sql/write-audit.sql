COPY (
  SELECT * FROM audit_entries ORDER BY id_ms, id_seq
) TO $file (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 40960);
