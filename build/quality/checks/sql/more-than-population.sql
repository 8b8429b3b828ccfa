-- Countries of the series $numbers, which count people, whose latest value exceeds twice the inhabitants of $population:
-- editions, years and borders differ by less.
WITH inhabitants AS (
  SELECT iso3, latest.value AS people
  FROM country_series
  WHERE number = $population AND latest.value > 0
), above AS (
  SELECT number, iso3, latest.year AS year, latest.value AS value, people
  FROM country_series
  JOIN inhabitants USING (iso3)
  WHERE number IN (SELECT unnest($numbers)) AND latest.value > 2 * people + 100
)
SELECT
  id, list(iso3 ORDER BY iso3) AS countries,
  max_by({iso3: iso3, year: year, value: value, people: people}, value / people) AS worst
FROM above
JOIN planned USING (number)
GROUP BY id
ORDER BY id;
