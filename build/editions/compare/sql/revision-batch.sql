-- The figures that differ between the files $base and $next of `compared`, for the series $numbers. A figure is a row with
-- a value; ranks do not count.
CREATE OR REPLACE TABLE revision_batch AS
WITH before AS (
  SELECT number, iso3, year, value, ci_lo, ci_hi, status, projected
  FROM read_parquet($base, filename = true) AS observations
  JOIN compared ON compared.base = observations.filename
  WHERE value IS NOT NULL AND number IN (SELECT unnest($numbers))
), after AS (
  SELECT number, iso3, year, value, ci_lo, ci_hi, status, projected
  FROM read_parquet($next, filename = true) AS observations
  JOIN compared ON compared.next = observations.filename
  WHERE value IS NOT NULL AND number IN (SELECT unnest($numbers))
), differing AS (
  SELECT
    number, iso3, year,
    before.value AS old_value, after.value AS new_value,
    before.ci_lo AS old_ci_lo, after.ci_lo AS new_ci_lo,
    before.ci_hi AS old_ci_hi, after.ci_hi AS new_ci_hi,
    before.status AS old_status, after.status AS new_status,
    before.projected AS old_projected, after.projected AS new_projected
  FROM before
  FULL JOIN after USING (number, iso3, year)
  WHERE before.value IS DISTINCT FROM after.value
    OR before.ci_lo IS DISTINCT FROM after.ci_lo
    OR before.ci_hi IS DISTINCT FROM after.ci_hi
    OR before.status IS DISTINCT FROM after.status
    OR before.projected IS DISTINCT FROM after.projected
)
SELECT
  differing.*,
  CASE
    WHEN new_value IS NULL THEN 'withdrawn'
    WHEN old_value IS NOT NULL THEN 'changed'
    -- More than once where it went with its series and, later, by itself.
    WHEN (number, iso3, year) IN (SELECT (number, iso3, year) FROM withdrawn_before) THEN 'restored'
    ELSE 'added'
  END AS kind
FROM differing;
