-- What a run collects before it writes it; see data/schema/archive.ts for the columns.
CREATE OR REPLACE TABLE ledger_entries (
  account_id VARCHAR, id_ms BIGINT, id_seq INTEGER, at_ms BIGINT, kind VARCHAR, delta BIGINT, balance BIGINT,
  request VARCHAR, route VARCHAR, key VARCHAR, "rows" BIGINT, "order" VARCHAR, "by" VARCHAR, reason VARCHAR, more VARCHAR
);
CREATE OR REPLACE TABLE audit_entries (
  id_ms BIGINT, id_seq INTEGER, at_ms BIGINT, "by" VARCHAR, action VARCHAR, subject VARCHAR, before VARCHAR,
  after VARCHAR, reason VARCHAR, request VARCHAR, more VARCHAR
);
CREATE OR REPLACE TABLE usage_counts (
  account_id VARCHAR, route VARCHAR, requests BIGINT, errors BIGINT, "rows" BIGINT, credits BIGINT
);
