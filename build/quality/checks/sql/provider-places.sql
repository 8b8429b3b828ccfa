-- Countries with a value by provider, in the series that are published now, from the $coverage of a snapshot.
SELECT split_part(indicator, '.', 1) AS provider, list(DISTINCT iso3 ORDER BY iso3) AS countries
FROM read_parquet($coverage)
WHERE n_values > 0 AND indicator IN (SELECT id FROM planned) AND iso3 IN (SELECT iso3 FROM enabled)
GROUP BY ALL;
