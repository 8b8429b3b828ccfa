-- Coverage by country over all indicators.
SELECT
  iso3,
  sum(n_rows)::INTEGER AS n_observations,
  count(*) FILTER (n_values > 0)::INTEGER AS n_indicators,
  min(yr_min) AS yr_min,
  max(yr_max) AS yr_max
FROM country_series
GROUP BY iso3
ORDER BY iso3;
