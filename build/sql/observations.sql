-- One indicator of `ranked_batch` as a file.
COPY (
  SELECT iso3, year, value, ci_lo, ci_hi, rank, rank_delta_1y, projected
  FROM ranked_batch
  WHERE number = $number
  ORDER BY iso3, year
) TO $file (FORMAT parquet, COMPRESSION snappy, PARQUET_VERSION v1);
