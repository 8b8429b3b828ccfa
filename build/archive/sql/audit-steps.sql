WITH placed AS (
  SELECT id_ms, id_seq, subject, row_number() OVER (ORDER BY id_ms, id_seq) AS place
  FROM read_parquet($entries)
)
SELECT
  arg_min(id_ms, place) || '-' || arg_min(id_seq, place) AS "first",
  arg_max(id_ms, place) || '-' || arg_max(id_seq, place) AS through,
  count(*) AS entries,
  list(DISTINCT subject) AS subjects
FROM placed
GROUP BY (place - 1) // $step
ORDER BY min(place);
