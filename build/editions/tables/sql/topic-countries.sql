-- Number of countries with a value by topic.
SELECT topic, count(DISTINCT iso3)::INTEGER AS n_countries
FROM country_series
JOIN planned USING (number)
WHERE n_values > 0
GROUP BY topic
ORDER BY topic;
