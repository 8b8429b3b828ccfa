-- How many figures the pairs of series $a and $b in $files have in common, and how many of these are equal to four digits.
WITH pairs AS (
  SELECT unnest($a) AS a, unnest($b) AS b
), published AS MATERIALIZED (
  SELECT left(parse_filename(filename), -8) AS id, iso3, year, value
  FROM read_parquet($files, filename = true)
  WHERE value IS NOT NULL
)
SELECT
  a, b,
  count(*)::INTEGER AS common,
  count(*) FILTER (abs(one.value - other.value) <= 0.0005 * greatest(abs(one.value), abs(other.value)))::INTEGER AS equal
FROM pairs
JOIN published AS one ON one.id = pairs.a
JOIN published AS other ON other.id = pairs.b AND other.iso3 = one.iso3 AND other.year = one.year
GROUP BY a, b
ORDER BY a, b;
