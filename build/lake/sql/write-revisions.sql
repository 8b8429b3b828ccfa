-- The observations of the series in $changed that differ between two runs of one provider.
COPY (
  WITH before AS (
    SELECT * FROM read_parquet($previous) WHERE list_contains($changed, indicator)
  ), after AS (
    SELECT * FROM read_parquet($current) WHERE list_contains($changed, indicator)
  )
  SELECT
    coalesce(after.indicator, before.indicator) AS indicator,
    coalesce(after.iso3, before.iso3) AS iso3,
    coalesce(after.year, before.year) AS year,
    CASE WHEN before.indicator IS NULL THEN 'added' WHEN after.indicator IS NULL THEN 'removed' ELSE 'changed' END AS change,
    before.value AS old_value,
    after.value AS new_value,
    before.ci_lo AS old_ci_lo,
    after.ci_lo AS new_ci_lo,
    before.ci_hi AS old_ci_hi,
    after.ci_hi AS new_ci_hi
  FROM before
  FULL JOIN after USING (indicator, iso3, year)
  WHERE before.indicator IS NULL
    OR after.indicator IS NULL
    OR before.value IS DISTINCT FROM after.value
    OR before.ci_lo IS DISTINCT FROM after.ci_lo
    OR before.ci_hi IS DISTINCT FROM after.ci_hi
  ORDER BY indicator, iso3, year
) TO $file (FORMAT parquet, COMPRESSION zstd);
