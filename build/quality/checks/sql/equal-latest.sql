-- Pairs of series with equal latest values in most countries: candidates for equal figures under two names. Values are
-- compared in four digits. Small numbers and values that many countries share (0, 100, scores) prove nothing.
WITH latest AS (
  SELECT number, iso3, latest.year AS year, round(latest.value, 3 - floor(log10(abs(latest.value)))::INTEGER) AS value
  FROM country_series
  WHERE latest.value NOT IN (0, 100) AND isfinite(latest.value)
    AND abs(latest.value - round(latest.value, 1 - floor(log10(abs(latest.value)))::INTEGER)) > 1e-9 * abs(latest.value)
), sizes AS (
  SELECT number, count(*) AS n, count(DISTINCT value) AS different
  FROM latest
  GROUP BY number
  HAVING different >= 10
), pairs AS (
  SELECT one.number AS a, other.number AS b, count(*) AS equal
  FROM latest AS one
  JOIN latest AS other USING (iso3, year, value)
  WHERE one.number < other.number
  GROUP BY ALL
)
SELECT first.id AS a, second.id AS b
FROM pairs
JOIN sizes AS left_size ON left_size.number = pairs.a
JOIN sizes AS right_size ON right_size.number = pairs.b
JOIN planned AS first ON first.number = pairs.a
JOIN planned AS second ON second.number = pairs.b
WHERE equal >= 0.8 * least(left_size.n, right_size.n)
ORDER BY a, b;
