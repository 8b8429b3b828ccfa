-- The observed values of each country in the published $files, as heights between its least (0) and greatest (99) value.
-- $since: first year. Halves, because the greatest numbers of both signs are farther apart than any number. A history without a change has heights of null.
WITH figures AS (
  SELECT left(parse_filename(filename), -8) AS indicator, iso3, year, value,
    min(value) OVER history AS least,
    max(value) OVER history AS greatest
  FROM read_parquet($files, filename = true)
  WHERE value IS NOT NULL AND NOT projected AND year >= $since
  WINDOW history AS (PARTITION BY filename, iso3)
)
SELECT iso3, indicator,
  list(year ORDER BY year) AS years,
  list(round(99 * ((value / 2 - least / 2) / nullif(greatest / 2 - least / 2, 0)))::UTINYINT ORDER BY year) AS heights
FROM figures
GROUP BY iso3, indicator
HAVING count(*) > 1
ORDER BY iso3, indicator;
