-- Small row groups: a build reads a few indicators at a time and skips the other groups.
COPY (
  FROM rebuilt
  WHERE indicator IN (SELECT unnest($slugs))
  ORDER BY indicator, iso3, year
) TO $file (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 40960);
