-- What changed in $files against $files_before, by series: countries that lost all values, and past values that changed by
-- more than $tolerance, as a whole and by country. `size` is the median change in powers of ten.
WITH today AS MATERIALIZED (
  SELECT left(parse_filename(filename), -8) AS id, iso3, year, value
  FROM read_parquet($files, filename = true)
  WHERE value IS NOT NULL
), yesterday AS MATERIALIZED (
  SELECT left(parse_filename(filename), -8) AS id, iso3, year, value
  FROM read_parquet($files_before, filename = true)
  WHERE value IS NOT NULL
), lost AS (
  SELECT id, list(iso3 ORDER BY iso3) AS countries
  FROM (SELECT DISTINCT id, iso3 FROM yesterday)
  ANTI JOIN today USING (id, iso3)
  GROUP BY id
), present AS (
  SELECT id, list(DISTINCT iso3) AS countries FROM today GROUP BY id
), compared AS (
  SELECT
    id, iso3, year, yesterday.value AS old, today.value AS new,
    abs(new - old) > $tolerance * greatest(abs(new), abs(old)) AS is_changed,
    CASE WHEN old > 0 AND new > 0 THEN log10(new) - log10(old) END AS size
  FROM yesterday
  JOIN today USING (id, iso3, year)
), by_country AS (
  SELECT
    id, iso3, count(*) AS common, count(*) FILTER (is_changed) AS changed,
    median(abs(new - old) / greatest(abs(new), abs(old))) FILTER (is_changed) AS distance
  FROM compared
  GROUP BY id, iso3
), by_series AS (
  SELECT
    id, count(*)::INTEGER AS common, count(*) FILTER (is_changed)::INTEGER AS changed,
    median(size) FILTER (is_changed) AS size,
    min(year) FILTER (is_changed) AS first_year, max(year) FILTER (is_changed) AS last_year,
    max_by({iso3: iso3, year: year, old: old, new: new}, abs(new - old) / greatest(abs(new), abs(old)))
      FILTER (is_changed) AS worst
  FROM compared
  GROUP BY id
), rewritten AS ( -- countries whose whole history moved by more than a third of it
  SELECT id, list(iso3 ORDER BY iso3) AS rewritten
  FROM by_country
  WHERE common >= 3 AND changed >= 0.8 * common AND distance > 0.33
  GROUP BY id
)
SELECT
  id, coalesce(lost.countries, []) AS lost, present.countries AS present,
  coalesce(common, 0) AS common, coalesce(changed, 0) AS changed, size, first_year, last_year, worst,
  coalesce(rewritten, []) AS rewritten
FROM present
LEFT JOIN by_series USING (id)
LEFT JOIN lost USING (id)
LEFT JOIN rewritten USING (id)
ORDER BY id;
