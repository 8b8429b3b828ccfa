-- What one account used on some archived days.
SELECT filename AS file, route, requests, errors, "rows", credits
FROM read_parquet($files, filename = true)
WHERE account_id = $account
ORDER BY file, route
