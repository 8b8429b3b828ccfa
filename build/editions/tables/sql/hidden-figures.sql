-- Figures of countries that are not served, of the indicators $slugs in one lake file.
SELECT indicator AS slug, iso3, year
FROM read_parquet($lake)
WHERE iso3 NOT IN (SELECT iso3 FROM enabled) AND value IS NOT NULL AND list_contains($slugs, indicator)
ORDER BY ALL;
