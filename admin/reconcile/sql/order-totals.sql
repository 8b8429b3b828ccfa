-- Credits that archived entries of each order moved.
SELECT account_id, "order", sum(moved)::BIGINT AS moved
FROM read_parquet($files)
WHERE "order" IS NOT NULL
GROUP BY account_id, "order"
