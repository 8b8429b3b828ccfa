-- The latest observed values of all series.
SELECT id, iso3, latest.year AS year, latest.value AS value
FROM country_series
JOIN planned USING (number)
WHERE latest.value IS NOT NULL
ORDER BY id, iso3;
