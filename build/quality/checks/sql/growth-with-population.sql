-- Spearman's rank correlation over countries between the latest value of each series and the population ($population).
WITH people AS (
  SELECT iso3, latest.value AS people FROM country_series WHERE number = $population AND latest.value > 0
), paired AS (
  SELECT number, iso3, latest.value AS value, people
  FROM country_series
  JOIN people USING (iso3)
  WHERE latest.value IS NOT NULL
), ranked AS (
  SELECT
    number,
    rank() OVER (PARTITION BY number ORDER BY value) AS by_value,
    rank() OVER (PARTITION BY number ORDER BY people) AS by_people
  FROM paired
)
SELECT planned.id, count(*)::INTEGER AS countries, corr(by_value, by_people) AS rho
FROM ranked
JOIN planned USING (number)
GROUP BY planned.id
HAVING count(*) >= $min_countries AND isfinite(rho);
