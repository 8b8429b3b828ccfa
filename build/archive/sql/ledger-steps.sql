-- The entries of some accounts of a part in steps of bounded size: what one script takes over at a time.
WITH placed AS (
  SELECT
    account_id, id_ms, id_seq, at_ms, delta, balance,
    row_number() OVER (PARTITION BY account_id ORDER BY id_ms, id_seq) AS place
  FROM read_parquet($entries)
  WHERE account_id BETWEEN $from AND $to
)
SELECT
  account_id,
  arg_min(id_ms, place) || '-' || arg_min(id_seq, place) AS "first",
  arg_max(id_ms, place) || '-' || arg_max(id_seq, place) AS through,
  arg_max(at_ms, place) AS at_ms,
  count(*) AS entries,
  arg_min(balance - delta, place) AS opening,
  arg_max(balance, place) AS closing
FROM placed
GROUP BY account_id, (place - 1) // $step
ORDER BY account_id, min(place);
