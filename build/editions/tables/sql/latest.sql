-- The latest value of every indicator and country.
SELECT
  number, iso3,
  latest.year AS year, latest.value AS value, latest.rank AS rank, latest.rank_delta_1y AS rank_delta_1y
FROM country_series
WHERE latest IS NOT NULL
ORDER BY number, iso3;
