-- Figures added, changed, removed and restored by series.
SELECT
  indicator AS slug,
  count(*) FILTER (kind = 'added')::INTEGER AS added,
  count(*) FILTER (kind = 'changed')::INTEGER AS changed,
  count(*) FILTER (kind = 'withdrawn')::INTEGER AS removed,
  count(*) FILTER (kind = 'restored')::INTEGER AS restored
FROM read_parquet($file)
WHERE kind <> 'gap'
GROUP BY slug
ORDER BY slug;
