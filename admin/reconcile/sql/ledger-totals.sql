-- Adds up parts by account, in one pass without sorting.
-- `chained`: every part opens with the closing balance of another. Compares sums of hashes, which is cheap and tells which
-- accounts to read part by part.
SELECT
  account_id,
  sum(entries)::BIGINT AS entries,
  sum(moved)::BIGINT AS moved,
  sum(spent)::BIGINT AS spent,
  sum(astray)::BIGINT AS astray,
  sum(weighed)::BIGINT AS weighed,
  min(first_ms) AS first_ms,
  arg_min(first_seq, first_ms) AS first_seq,
  max(last_ms) AS last_ms,
  arg_max(last_seq, last_ms) AS last_seq,
  arg_min(opening, first_ms) AS opening,
  arg_max(closing, last_ms) AS closing,
  sum(link) = (hash(arg_min(opening, first_ms)) >> 2)::HUGEINT - (hash(arg_max(closing, last_ms)) >> 2)::HUGEINT AS chained
FROM read_parquet($files)
WHERE "order" IS NULL
GROUP BY account_id
