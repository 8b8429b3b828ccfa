SELECT account_id, through FROM archived_through WHERE account_id > $after ORDER BY account_id LIMIT $limit;
