-- Entries of some accounts in one part, up to and with an id for each account.
SELECT entry.account_id, id_ms, id_seq, at_ms, kind, delta, balance, route, "order",
  coalesce(try_cast(regexp_extract(more, '"of_ms":"(\d+)"', 1) AS BIGINT), at_ms) AS counted_ms
FROM read_parquet($entries) AS entry
JOIN (
  SELECT unnest($accounts) AS account_id, unnest($through_ms)::BIGINT AS ms, unnest($through_seq)::BIGINT AS seq
) AS archived USING (account_id)
WHERE id_ms < ms OR (id_ms = ms AND id_seq <= seq)
ORDER BY entry.account_id, id_ms, id_seq
