-- Compares the pairs of series $a and $b in $files, country by country, by observed values of common years. Countries that
-- agree everywhere are only counted: `n` years, and no more.
-- `here` is the median distance of the values of one year; `before` and `after` of a value of a and the one of b a year
-- earlier or later. A distance is relative to the greater value, at least to a fifth of the mean size of a.
-- `size` is the median of log10(a / b).
WITH pairs AS (
  SELECT first.number AS a, second.number AS b
  FROM (SELECT unnest($a) AS a, unnest($b) AS b) AS named
  JOIN planned AS first ON first.id = named.a
  JOIN planned AS second ON second.id = named.b
), published AS MATERIALIZED (
  SELECT planned.number, iso3, year, value
  FROM read_parquet($files, filename = true) AS files
  JOIN planned ON planned.id = left(parse_filename(files.filename), -8)
  WHERE value IS NOT NULL AND NOT projected
), scales AS (
  SELECT number, 0.2 * exp(avg(ln(abs(nullif(value, 0))))) AS least FROM published GROUP BY number
), common AS MATERIALIZED (
  SELECT
    pairs.a, pairs.b, one.iso3, one.year, one.value AS value_a, other.value AS value_b,
    greatest(abs(one.value), abs(other.value), least, 1e-300) AS scale,
    abs(one.value - other.value) / scale AS here
  FROM pairs
  JOIN published AS one ON one.number = pairs.a
  JOIN published AS other ON other.number = pairs.b AND other.iso3 = one.iso3 AND other.year = one.year
  JOIN scales ON scales.number = pairs.a
), countries AS (
  SELECT
    a, b, iso3, count(*)::INTEGER AS n, max(here) AS worst,
    max_by({year: year, a: value_a, b: value_b, distance: here}, year) AS latest
  FROM common
  GROUP BY a, b, iso3
), neighbours AS (
  SELECT
    a, b, iso3, here,
    CASE WHEN value_a > 0 AND value_b > 0 THEN log10(value_a) - log10(value_b) END AS size,
    CASE WHEN lag(year) OVER country = year - 1 THEN abs(value_a - lag(value_b) OVER country) / scale END AS before,
    CASE WHEN lead(year) OVER country = year + 1 THEN abs(value_a - lead(value_b) OVER country) / scale END AS after
  FROM common
  SEMI JOIN (FROM countries WHERE worst > 0.001) USING (a, b, iso3)
  WINDOW country AS (PARTITION BY a, b, iso3 ORDER BY year)
), distances AS (
  SELECT
    a, b, iso3,
    count(*) FILTER (before IS NOT NULL AND after IS NOT NULL)::INTEGER AS n_shiftable,
    median(here) FILTER (before IS NOT NULL AND after IS NOT NULL) AS here,
    median(before) FILTER (after IS NOT NULL) AS before,
    median(after) FILTER (before IS NOT NULL) AS after,
    median(size) AS size
  FROM neighbours
  GROUP BY a, b, iso3
)
SELECT
  first.id AS a, second.id AS b, countries.iso3, countries.n, coalesce(n_shiftable, 0) AS n_shiftable,
  here, before, after, size, latest
FROM countries
LEFT JOIN distances USING (a, b, iso3)
JOIN planned AS first ON first.number = countries.a
JOIN planned AS second ON second.number = countries.b
ORDER BY ALL;
