-- One page of an account in one part, newest first.
SELECT id_ms, id_seq, at_ms, kind, delta, balance, request, route, key, "rows", "order", "by", reason, more
FROM read_parquet($file)
WHERE account_id = $account AND (id_ms < $ms OR (id_ms = $ms AND id_seq < $seq))
ORDER BY id_ms DESC, id_seq DESC
LIMIT $limit
