-- Where the archive ends for each account.
CREATE OR REPLACE TABLE archived_through AS
SELECT account_id, arg_max(last_ms || '-' || last_seq, (last_ms, last_seq)) AS through
FROM read_parquet($accounts)
GROUP BY account_id;
