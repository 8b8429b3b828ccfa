-- Checksum over days of the credits that each account used.
SELECT account_id, sum(weighed)::BIGINT AS weighed FROM read_parquet($files) GROUP BY account_id
