-- The values of the $files, which are $parts series, where a country and year has all of them; in the order of their ids.
SELECT iso3, year, list(value ORDER BY filename) AS values
FROM read_parquet($files, filename = true)
WHERE value IS NOT NULL
GROUP BY iso3, year
HAVING count(*) = $parts
ORDER BY iso3, year;
