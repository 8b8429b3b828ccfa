COPY (
  SELECT id AS indicator, iso3, n_rows, n_values, yr_min, yr_max, latest_year
  FROM country_series
  JOIN planned USING (number)
  ORDER BY number, iso3
) TO $file (FORMAT parquet, COMPRESSION snappy, PARQUET_VERSION v1);
