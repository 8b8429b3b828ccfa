-- One row per account, from the entries as they were written.
COPY (
  WITH placed AS (
    SELECT *, row_number() OVER (PARTITION BY account_id ORDER BY id_ms, id_seq) AS place
    FROM read_parquet($entries)
  )
  SELECT
    account_id,
    count(*) AS entries,
    arg_min(id_ms, place) AS first_ms,
    arg_min(id_seq, place) AS first_seq,
    arg_max(id_ms, place) AS last_ms,
    arg_max(id_seq, place) AS last_seq,
    arg_max(at_ms, place) AS last_at_ms,
    arg_min(balance - delta, place) AS opening,
    arg_max(balance, place) AS closing
  FROM placed
  GROUP BY account_id
  ORDER BY account_id
) TO $file (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 40960);
