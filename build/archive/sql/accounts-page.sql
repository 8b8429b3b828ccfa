SELECT account_id FROM read_parquet($accounts) WHERE account_id > $after ORDER BY account_id LIMIT $limit;
