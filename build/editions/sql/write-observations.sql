-- One indicator of `ranked_batch` as a file, in the order of that table (iso3, year), which DuckDB keeps.
COPY (
  SELECT iso3, year, value, ci_lo, ci_hi, rank, rank_delta_1y, projected
  FROM ranked_batch
  WHERE number = $number
) TO $file (FORMAT parquet, COMPRESSION snappy, PARQUET_VERSION v1);
