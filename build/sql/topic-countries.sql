-- How many countries have a value in each topic.
SELECT topic, count(DISTINCT iso3)::INTEGER AS n_countries
FROM held
JOIN catalogue ON catalogue.id = held.indicator
WHERE n_values > 0
GROUP BY topic
ORDER BY topic;
