-- What each of some parts says it holds of one account.
SELECT filename AS file, first_ms, first_seq, last_ms, last_seq, opening, closing
FROM read_parquet($files, filename = true)
WHERE account_id = $account
