-- Reads a part back: how many entries, how many of them do not follow from the one before, and what its accounts say.
WITH lined_up AS (
  SELECT
    account_id, id_ms, id_seq, delta, balance,
    lag(account_id) OVER file AS account_before,
    lag(id_ms) OVER file AS ms_before,
    lag(id_seq) OVER file AS seq_before,
    lag(balance) OVER file AS balance_before
  FROM read_parquet($entries, file_row_number = true)
  WINDOW file AS (ORDER BY file_row_number)
)
SELECT
  count(*) AS entries,
  count(DISTINCT account_id) AS accounts,
  coalesce(sum(delta), 0)::BIGINT AS moved,
  count(*) FILTER (
    WHERE CASE
      WHEN account_id = account_before
      THEN (id_ms, id_seq) <= (ms_before, seq_before) OR balance <> balance_before + delta
      ELSE account_id < account_before
    END
  ) AS astray,
  (SELECT coalesce(sum(entries), 0)::BIGINT FROM read_parquet($accounts)) AS summed_entries,
  (SELECT coalesce(sum(closing - opening), 0)::BIGINT FROM read_parquet($accounts)) AS summed_moved
FROM lined_up;
