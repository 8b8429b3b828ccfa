-- Added, changed and removed observations by series.
SELECT
  indicator,
  count(*) FILTER (change = 'added')::INTEGER AS added,
  count(*) FILTER (change = 'changed')::INTEGER AS changed,
  count(*) FILTER (change = 'removed')::INTEGER AS removed
FROM read_parquet($file)
GROUP BY indicator
ORDER BY indicator;
