COPY (
  SELECT * FROM ledger_entries ORDER BY account_id, id_ms, id_seq
) TO $file (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 40960);
