-- Writes the observations $files, each of one indicator, in their order. DuckDB keeps the order of rows.
COPY (
  SELECT indicator, iso3, year, value, ci_lo, ci_hi, rank, rank_delta_1y, projected, status, rank_lo, rank_hi
  FROM read_parquet($files)
) TO $file (FORMAT parquet, COMPRESSION snappy, PARQUET_VERSION v1, ROW_GROUP_SIZE 122880);
