-- The latest values of the indicators with numbers from $first to $last, by indicator, then country.
COPY (
  SELECT id AS indicator, iso3, latest.*
  FROM country_series
  JOIN planned USING (number)
  WHERE latest IS NOT NULL AND number BETWEEN $first AND $last
  ORDER BY number, iso3
) TO $file (FORMAT parquet, COMPRESSION snappy, PARQUET_VERSION v1);
