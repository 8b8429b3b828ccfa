-- Holdings of one account in each of the given parts, from their lists of accounts.
SELECT filename AS file, first_ms, first_seq, last_ms, last_seq, opening, closing
FROM read_parquet($files, filename = true)
WHERE account_id = $account
