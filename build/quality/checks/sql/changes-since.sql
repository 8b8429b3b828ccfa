-- What changed in $files against $files_before, by series: countries that lost all values, values lost of others, and past
-- values that changed by more than $tolerance, as a whole, by country and by year. `size` is the median change in powers of
-- ten. Values are `slipped` by a power of ten or in sign, `moved` from the year before, or `stale`: they repeat the year before, and
-- did not.
WITH today AS MATERIALIZED (
  SELECT
    left(parse_filename(filename), -8) AS id, iso3, year, value,
    lag(value) OVER (PARTITION BY filename, iso3 ORDER BY year) AS previous
  FROM read_parquet($files, filename = true)
  WHERE value IS NOT NULL
), yesterday AS MATERIALIZED (
  SELECT
    left(parse_filename(filename), -8) AS id, iso3, year, value,
    lag(value) OVER (PARTITION BY filename, iso3 ORDER BY year) AS previous
  FROM read_parquet($files_before, filename = true)
  WHERE value IS NOT NULL
), lost AS (
  SELECT id, list(iso3 ORDER BY iso3) AS countries
  FROM (SELECT DISTINCT id, iso3 FROM yesterday)
  ANTI JOIN today USING (id, iso3)
  GROUP BY id
), present AS (
  SELECT id, list(DISTINCT iso3) AS countries FROM today GROUP BY id
), gone_by_country AS (
  SELECT id, iso3, count(*) AS had, count(*) FILTER (today.value IS NULL) AS gone
  FROM yesterday
  LEFT JOIN today USING (id, iso3, year)
  JOIN (SELECT id, max(year) AS newest FROM today GROUP BY id) USING (id)
  WHERE year <= newest -- later ones are those of an earlier newest year
  GROUP BY id, iso3
  HAVING gone < had
), gone AS (
  SELECT
    id, sum(gone)::INTEGER AS values, list(iso3 ORDER BY iso3) FILTER (gone > 0) AS countries,
    coalesce(bool_or(had >= 5 AND gone >= 0.5 * had), false) OR sum(gone) >= greatest(10, 0.02 * sum(had)) AS is_much
  FROM gone_by_country
  GROUP BY id
), compared AS (
  SELECT
    id, iso3, year, yesterday.value AS old, today.value AS new,
    abs(new - old) > $tolerance * greatest(abs(new), abs(old)) AS is_changed,
    CASE WHEN old > 0 AND new > 0 THEN log10(new) - log10(old) END AS size,
    CASE WHEN old * new > 0 THEN log10(abs(new)) - log10(abs(old)) END AS powers,
    abs(powers) > 0.9 AND abs(powers - round(powers)) < 0.001 OR new = -old AND old <> 0 AS is_slipped,
    new <> old AND new = yesterday.previous AS is_moved,
    new <> old AND new = today.previous AND old <> yesterday.previous AS is_stale
  FROM yesterday
  JOIN today USING (id, iso3, year)
), by_country AS (
  SELECT
    id, iso3, count(*) AS common, count(*) FILTER (is_changed) AS changed,
    median(abs(new - old) / greatest(abs(new), abs(old))) FILTER (is_changed) AS distance,
    count(*) FILTER (is_stale) AS stale
  FROM compared
  GROUP BY id, iso3
), by_year AS (
  SELECT
    id, year, count(*) >= 10 AND count(*) FILTER (is_changed) >= 0.8 * count(*) AS is_rewritten,
    count(*) FILTER (is_stale) >= greatest(10, 0.5 * count(*)) AS is_stale
  FROM compared
  GROUP BY id, year
), years AS (
  SELECT id, bool_or(is_rewritten) AS rewrites_year, bool_or(is_stale) AS repeats_year
  FROM by_year
  GROUP BY id
), by_series AS (
  SELECT
    id, count(*)::INTEGER AS common, count(*) FILTER (is_changed)::INTEGER AS changed,
    median(size) FILTER (is_changed) AS size,
    count(*) FILTER (is_slipped)::INTEGER AS slipped, count(*) FILTER (is_moved)::INTEGER AS moved,
    count(*) FILTER (is_stale)::INTEGER AS stale, count(*) FILTER (new <> old)::INTEGER AS different,
    min(year) FILTER (new <> old) AS first_year, max(year) FILTER (new <> old) AS last_year,
    max_by({iso3: iso3, year: year, old: old, new: new}, abs(new - old) / greatest(abs(new), abs(old)))
      FILTER (new <> old) AS worst
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
  coalesce(slipped, 0) AS slipped, coalesce(different, 0) AS different,
  CASE WHEN moved >= 10 AND moved >= 0.8 * different THEN moved ELSE 0 END AS moved,
  CASE WHEN repeats_year OR most_stale >= 5 THEN stale ELSE 0 END AS stale,
  coalesce(rewrites_year, false) AS rewrites_year,
  CASE WHEN is_much THEN gone.values ELSE 0 END AS gone, coalesce(gone.countries, []) AS gone_countries,
  coalesce(common, 0) AS common, coalesce(changed, 0) AS changed, size, first_year, last_year, worst,
  coalesce(rewritten, []) AS rewritten
FROM present
LEFT JOIN by_series USING (id)
LEFT JOIN lost USING (id)
LEFT JOIN rewritten USING (id)
LEFT JOIN years USING (id)
LEFT JOIN (SELECT id, max(stale) AS most_stale FROM by_country GROUP BY id) USING (id)
LEFT JOIN gone USING (id)
ORDER BY id;
