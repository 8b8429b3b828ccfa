COPY (
  SELECT indicator, iso3, latest.*
  FROM held
  WHERE latest IS NOT NULL
  ORDER BY indicator, iso3
) TO $file (FORMAT parquet, COMPRESSION snappy, PARQUET_VERSION v1);
