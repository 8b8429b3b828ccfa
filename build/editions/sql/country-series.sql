-- What each country holds of the indicators whose published files are given. Years of values, not of empty rows;
-- `latest` is the newest observed value, or, where all observed rows are empty, the newest of those.
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
