-- The rows of the series in $changed that differ between two runs of one provider; REVISION_COLUMNS of
-- data/schema/lake.ts. A figure is a row with a value. `withdrawn_before` holds what earlier runs withdrew.
COPY (
  WITH before AS (
    SELECT * FROM read_parquet($previous) WHERE indicator IN (SELECT unnest($changed))
  ), after AS (
    SELECT * FROM read_parquet($current) WHERE indicator IN (SELECT unnest($changed))
  ), compared AS (
    SELECT
      indicator, iso3, year,
      before.projected AS old_projected, after.projected AS new_projected,
      before.status AS old_status, after.status AS new_status,
      before.value AS old_value, after.value AS new_value,
      before.ci_lo AS old_ci_lo, after.ci_lo AS new_ci_lo,
      before.ci_hi AS old_ci_hi, after.ci_hi AS new_ci_hi,
      before.here IS NOT NULL AS old_row, after.here IS NOT NULL AS new_row
    FROM (SELECT *, true AS here FROM before) AS before
    FULL JOIN (SELECT *, true AS here FROM after) AS after USING (indicator, iso3, year)
    WHERE before.here IS NULL
      OR after.here IS NULL
      OR before.value IS DISTINCT FROM after.value
      OR before.ci_lo IS DISTINCT FROM after.ci_lo
      OR before.ci_hi IS DISTINCT FROM after.ci_hi
      OR before.projected IS DISTINCT FROM after.projected
      OR before.status IS DISTINCT FROM after.status
  )
  SELECT
    compared.indicator, compared.iso3, compared.year,
    CASE
      WHEN old_value IS NULL AND new_value IS NULL THEN 'gap'
      WHEN new_value IS NULL THEN 'withdrawn'
      WHEN old_value IS NOT NULL THEN 'changed'
      WHEN withdrawn_before.year IS NOT NULL THEN 'restored'
      ELSE 'added'
    END AS kind,
    old_row, new_row, old_value, new_value, old_ci_lo, new_ci_lo, old_ci_hi, new_ci_hi,
    old_projected, new_projected, old_status, new_status
  FROM compared
  LEFT JOIN withdrawn_before USING (indicator, iso3, year)
  ORDER BY indicator, iso3, year
) TO $file (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 40960);
