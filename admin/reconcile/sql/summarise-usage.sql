-- Summarises one archived day of usage: credits used by account; `weighed` as in summarise-ledger.sql.
COPY (
  SELECT
    account_id, $day::INTEGER AS day, sum(credits)::BIGINT AS used,
    sum(credits)::BIGINT
      * (($day::BIGINT * 2654435761 % 2147483647) * ($day::BIGINT * 2654435761 % 2147483647) % 268435399 + 1) AS weighed
  FROM read_parquet($entries)
  GROUP BY account_id
  HAVING sum(credits) <> 0
) TO $file (FORMAT parquet)
