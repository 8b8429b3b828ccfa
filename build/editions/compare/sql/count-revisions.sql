-- Figures added, changed, withdrawn and restored by series of `revision_batch`.
SELECT
  number,
  count(*) FILTER (kind = 'added')::INTEGER AS added,
  count(*) FILTER (kind = 'changed')::INTEGER AS changed,
  count(*) FILTER (kind = 'withdrawn')::INTEGER AS withdrawn,
  count(*) FILTER (kind = 'restored')::INTEGER AS restored
FROM revision_batch
GROUP BY number
ORDER BY number;
