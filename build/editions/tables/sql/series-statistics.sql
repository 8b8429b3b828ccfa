-- Statistics by indicator of the published $files. A figure is a row with a value.
-- Of series with values beyond 1e100 or within 1e-100 there are no quartiles and jumps: their computation may overflow.
-- The digest hashes twice: a single hash is linear in its last argument, so that exchanged values would cancel out.
WITH published AS MATERIALIZED (
  SELECT planned.number, iso3, year, value, projected, status
  FROM read_parquet($files, filename = true) AS files
  JOIN planned ON planned.id = left(parse_filename(files.filename), -8)
), figures AS (
  SELECT
    number,
    count(*)::INTEGER AS rows,
    count(value)::INTEGER AS "values",
    (count(*) - count(value))::INTEGER AS nulls,
    count(*) FILTER (projected)::INTEGER AS projected,
    count(DISTINCT iso3) FILTER (value IS NOT NULL)::INTEGER AS countries,
    min(value) AS min,
    count(*) FILTER (abs(value) > 1e100 OR abs(value) < 1e-100 AND value <> 0)::INTEGER AS extreme,
    CASE WHEN extreme = 0 THEN quantile_cont(value, 0.25) END AS q1,
    CASE WHEN extreme = 0 THEN median(value) END AS median,
    CASE WHEN extreme = 0 THEN quantile_cont(value, 0.75) END AS q3,
    max(value) AS max,
    count(*) FILTER (value < 0)::INTEGER AS negative,
    count(*) FILTER (value = 0)::INTEGER AS zero,
    count(*) FILTER (value > 1)::INTEGER AS above_1,
    count(*) FILTER (value > 100)::INTEGER AS above_100,
    count(*) FILTER (value = trunc(value)) / nullif(count(value), 0) AS whole_share,
    min(year) FILTER (value IS NOT NULL) AS first_year,
    max(year) FILTER (value IS NOT NULL) AS last_year,
    max(year) FILTER (value IS NOT NULL AND projected) AS newest_projected_year,
    histogram(status) AS statuses,
    format('{:016x}', coalesce(bit_xor(hash(hash(iso3, year, value))) FILTER (value IS NOT NULL), 0)) AS digest
  FROM published
  GROUP BY number
), observed_years AS (
  SELECT number, year, count(*)::INTEGER AS countries
  FROM published
  WHERE value IS NOT NULL AND NOT projected
  GROUP BY number, year
), latest AS (
  SELECT number, max(year) AS latest_year, max_by(countries, year) AS latest_countries
  FROM observed_years
  GROUP BY number
), changes AS (
  SELECT
    number, iso3, year, value / lag(value) OVER country AS ratio, year - lag(year) OVER country AS years
  FROM published
  WHERE value <> 0
  WINDOW country AS (PARTITION BY number, iso3 ORDER BY year)
), jumps AS (
  SELECT number, max_by({ratio: greatest(ratio, 1 / ratio), iso3: iso3, year: year}, greatest(ratio, 1 / ratio)) AS jump
  FROM changes
  SEMI JOIN (FROM figures WHERE extreme = 0) USING (number)
  WHERE years = 1 AND ratio > 0 AND isfinite(ratio) AND isfinite(1 / ratio)
  GROUP BY number
)
SELECT id, figures.* EXCLUDE (number), latest_year, coalesce(latest_countries, 0) AS latest_countries, jump
FROM figures
JOIN planned USING (number)
LEFT JOIN latest USING (number)
LEFT JOIN jumps USING (number)
ORDER BY number;
