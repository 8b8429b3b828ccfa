-- Pairs ($pairs: JSON list of {a, b}) with countries and years that one series observes and the other projects.
WITH pairs AS (
  SELECT unnest(from_json($pairs, '[{"a":"VARCHAR","b":"VARCHAR"}]'), recursive := true)
), figures AS (
  SELECT left(parse_filename(filename), -8) AS id, iso3, year, projected
  FROM read_parquet($files, filename = true)
  WHERE value IS NOT NULL
)
SELECT
  pairs.a, pairs.b, count(*)::INTEGER AS found, list(DISTINCT x.iso3 ORDER BY x.iso3)[:300] AS countries,
  min(x.year) AS first_year, max(x.year) AS last_year, mode(CASE WHEN x.projected THEN pairs.a ELSE pairs.b END) AS projects
FROM pairs
JOIN figures AS x ON x.id = pairs.a
JOIN figures AS y ON y.id = pairs.b AND y.iso3 = x.iso3 AND y.year = x.year AND y.projected <> x.projected
GROUP BY pairs.a, pairs.b;
