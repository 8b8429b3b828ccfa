SELECT account_id, day, used FROM read_parquet($files)
WHERE len($accounts) = 0 OR account_id IN (SELECT unnest($accounts))
