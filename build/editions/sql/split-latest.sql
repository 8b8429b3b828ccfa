-- One provider's rows of a table of the latest values, in the table's order.
COPY (
  SELECT * FROM read_parquet($all) WHERE split_part(indicator, '.', 1) = $provider
) TO $file (FORMAT parquet, COMPRESSION snappy, PARQUET_VERSION v1);
