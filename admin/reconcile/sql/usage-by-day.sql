-- Credits used by day: of some accounts, or of all when `accounts` is empty.
SELECT account_id, day, used
FROM read_parquet($files)
WHERE len($accounts) = 0 OR account_id IN (SELECT unnest($accounts))
