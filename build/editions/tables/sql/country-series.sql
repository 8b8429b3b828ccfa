-- A row per indicator and country of the published $files. Years count rows with a value.
-- `latest` is the newest observed row with a value, else the newest observed row.
INSERT INTO country_series
SELECT
  planned.number,
  iso3,
  count(*)::INTEGER AS n_rows,
  count(value)::INTEGER AS n_values,
  min(year) FILTER (value IS NOT NULL) AS yr_min,
  max(year) FILTER (value IS NOT NULL) AS yr_max,
  max(year) FILTER (value IS NOT NULL AND NOT projected) AS latest_year,
  max_by(
    {year: year, value: value, ci_lo: ci_lo, ci_hi: ci_hi, rank: rank, rank_delta_1y: rank_delta_1y},
    year + CASE WHEN value IS NULL THEN 0 ELSE 1000000 END
  ) FILTER (NOT projected) AS latest
FROM read_parquet($files, filename = true) AS published
JOIN planned ON planned.id = left(parse_filename(published.filename), -8)
GROUP BY ALL
ORDER BY planned.number, iso3;
