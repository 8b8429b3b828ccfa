-- What some accounts used, day by day.
SELECT account_id, day, used FROM read_parquet($files) WHERE account_id IN (SELECT unnest($accounts))
