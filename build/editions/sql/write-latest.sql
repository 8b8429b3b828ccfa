-- The latest values of one provider's indicators, by indicator, then country.
COPY (
  SELECT id AS indicator, iso3, latest.*
  FROM country_series
  JOIN planned USING (number)
  WHERE latest IS NOT NULL AND split_part(id, '.', 1) = $provider
  ORDER BY number, iso3
) TO $file (FORMAT parquet, COMPRESSION snappy, PARQUET_VERSION v1);
