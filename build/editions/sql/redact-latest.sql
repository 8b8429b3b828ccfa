-- The latest values without those of the withheld series $ids, in the table's order.
COPY (
  SELECT * FROM read_parquet($from) WHERE indicator NOT IN (SELECT unnest($ids))
) TO $file (FORMAT parquet, COMPRESSION snappy, PARQUET_VERSION v1);
