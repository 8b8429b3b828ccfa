CREATE OR REPLACE TABLE accounts_behind (account_id VARCHAR, ms BIGINT, seq INTEGER);
