-- Small row groups: a build reads a few indicators at a time and skips the other groups.
COPY (
  SELECT slug AS indicator, iso3, year, value, ci_lo, ci_hi, projected, status
  FROM lake_rows
  JOIN lake_series USING (series)
  ORDER BY indicator, iso3, year
) TO $file (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 40960);
