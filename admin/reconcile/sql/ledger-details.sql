-- Every summary row of some accounts.
SELECT
  filename AS file, account_id, day, "order", entries, moved, spent, of_day,
  first_ms, first_seq, last_ms, last_seq, opening, closing, since_ms, astray
FROM read_parquet($files, filename = true)
WHERE account_id IN (SELECT unnest($accounts))
ORDER BY file, account_id
