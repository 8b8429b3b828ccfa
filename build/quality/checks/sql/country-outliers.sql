-- Countries whose latest value lies more than a power of ten beyond every other country's, in the series $numbers.
-- Sizes of countries explain sums: a series is taken per inhabitant of $population where that makes countries more alike.
-- Distances are in powers of ten; z counts them in interquartile ranges from the median.
WITH inhabitants AS (
  SELECT iso3, log10(latest.value) AS people
  FROM country_series
  WHERE number = $population AND latest.value > 0
), latest AS (
  SELECT number, iso3, latest.year AS year, latest.value AS value, log10(latest.value) AS y, people
  FROM country_series
  LEFT JOIN inhabitants USING (iso3)
  WHERE number IN (SELECT unnest($numbers)) AND latest.value > 0
), spreads AS (
  SELECT number, coalesce(stddev(y - people) < 0.8 * stddev(y) FILTER (people IS NOT NULL), false) AS is_sum
  FROM latest
  GROUP BY number
), levels AS (
  SELECT number, iso3, year, value, CASE WHEN is_sum THEN y - people ELSE y END AS y
  FROM latest
  JOIN spreads USING (number)
  WHERE NOT is_sum OR people IS NOT NULL
), quartiles AS (
  SELECT number, median(y) AS middle, quantile_cont(y, 0.75) - quantile_cont(y, 0.25) AS spread, count(*) AS n
  FROM levels
  GROUP BY number
), neighbours AS (
  SELECT *, y - lag(y) OVER series AS above_next, lead(y) OVER series - y AS below_next
  FROM levels
  WINDOW series AS (PARTITION BY number ORDER BY y)
)
SELECT id, iso3, year, value, n::INTEGER AS n, coalesce(above_next, below_next) AS distance, below_next IS NULL AS is_high
FROM (
  SELECT number, iso3, year, value, y, CASE WHEN below_next IS NULL THEN above_next END AS above_next,
    CASE WHEN above_next IS NULL THEN below_next END AS below_next
  FROM neighbours
)
JOIN quartiles USING (number)
JOIN planned USING (number)
WHERE n >= 20 AND (above_next > 1 AND (y - middle) > 6 * spread OR below_next > 1 AND (middle - y) > 8 * spread)
ORDER BY id, iso3;
