-- Usage of one account on archived days, by route.
SELECT filename AS file, route, requests, errors, "rows", credits
FROM read_parquet($files, filename = true)
WHERE account_id = $account
ORDER BY file, route
