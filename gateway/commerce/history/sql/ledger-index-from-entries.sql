-- Holdings of one account in one part, computed from its entries: for a part whose list of accounts is unreadable.
SELECT
  arg_min(id_ms, (id_ms, id_seq)) AS first_ms,
  arg_min(id_seq, (id_ms, id_seq)) AS first_seq,
  arg_max(id_ms, (id_ms, id_seq)) AS last_ms,
  arg_max(id_seq, (id_ms, id_seq)) AS last_seq,
  arg_min(balance - delta, (id_ms, id_seq)) AS opening,
  arg_max(balance, (id_ms, id_seq)) AS closing
FROM read_parquet($file)
WHERE account_id = $account
HAVING count(*) > 0
