-- How many figures of each vanished series in $vanished a new one in $files has at the same countries and years.
-- $pairs: JSON list of {old, new}.
WITH pairs AS (
  SELECT unnest(from_json($pairs, '[{"old":"VARCHAR","new":"VARCHAR"}]'), recursive := true)
), vanished AS MATERIALIZED (
  SELECT left(parse_filename(filename), -8) AS old, iso3, year, value
  FROM read_parquet($vanished, filename = true)
  WHERE value IS NOT NULL
), present AS MATERIALIZED (
  SELECT left(parse_filename(filename), -8) AS new, iso3, year, value
  FROM read_parquet($files, filename = true)
  WHERE value IS NOT NULL
)
SELECT pairs.old, pairs.new, count(*)::INTEGER AS equal
FROM pairs
JOIN vanished USING (old)
JOIN present USING (new, iso3, year, value)
GROUP BY pairs.old, pairs.new
ORDER BY pairs.old, pairs.new;
