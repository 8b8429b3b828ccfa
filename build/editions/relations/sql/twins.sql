-- Compares the observed values of the series of one concept, for countries and years that both have.
-- $files: their published files. $series: JSON list of {id, concept, factor}; values times `factor` are in one unit.
-- `difference` is |a - b| / max(|a|, |b|), of figures that can be expressed in one unit; the largest one is the first by country
-- and year where several are equal.
WITH series AS (
  SELECT unnest(from_json($series, '[{"id":"VARCHAR","concept":"VARCHAR","factor":"DOUBLE"}]'), recursive := true)
), figures AS (
  SELECT id, concept, iso3, year, value, value * factor AS compared
  FROM read_parquet($files, filename = true) AS published
  JOIN series ON series.id = left(parse_filename(published.filename), -8)
  WHERE value IS NOT NULL AND NOT projected
), pairs AS (
  SELECT
    a.id AS a, b.id AS b, iso3, year, a.value AS a_value, b.value AS b_value,
    greatest(abs(a.compared), abs(b.compared)) AS size,
    CASE
      WHEN a.compared = b.compared THEN 0
      WHEN isfinite(a.compared - b.compared) THEN abs(a.compared - b.compared) / size
      ELSE abs(a.compared / size - b.compared / size)
    END AS difference
  FROM figures AS a
  JOIN figures AS b USING (concept, iso3, year)
  WHERE a.id < b.id AND isfinite(a.compared) AND isfinite(b.compared)
)
SELECT
  a, b,
  count(DISTINCT iso3)::INTEGER AS countries,
  count(DISTINCT year)::INTEGER AS years,
  median(difference) AS median,
  min({rank: -difference, iso3: iso3, year: year, a_value: a_value, b_value: b_value}) AS largest
FROM pairs
GROUP BY a, b
ORDER BY a, b;
