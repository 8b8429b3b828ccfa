-- Writes one indicator of `ranked_batch`. DuckDB keeps the table's order (iso3, year).
COPY (
  SELECT
    $indicator::VARCHAR AS indicator,
    iso3, year, value, ci_lo, ci_hi, rank, rank_delta_1y, projected, status, rank_lo, rank_hi
  FROM ranked_batch
  WHERE number = $number
) TO $file (FORMAT parquet, COMPRESSION snappy, PARQUET_VERSION v1);
