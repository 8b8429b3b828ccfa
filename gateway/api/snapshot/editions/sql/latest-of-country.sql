-- The latest values of one country, of all providers.
SELECT indicator, year, value, rank, rank_delta_1y
FROM read_parquet($files)
WHERE iso3 = $iso3
