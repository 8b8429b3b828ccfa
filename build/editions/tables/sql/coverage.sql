-- Coverage by indicator.
SELECT
  id,
  count(*) FILTER (n_values > 0)::INTEGER AS n_countries,
  min(yr_min) AS yr_min,
  max(yr_max) AS yr_max,
  max(latest_year) AS latest_year,
  sum(n_rows)::INTEGER AS n_rows
FROM country_series
JOIN planned USING (number)
GROUP BY number, id
ORDER BY number;
