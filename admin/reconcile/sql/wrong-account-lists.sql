-- Number of accounts whose line in a part's account list differs from the part's entries.
SELECT count(*) AS accounts
FROM (SELECT * FROM read_parquet($summary) WHERE entries > 0) AS held
FULL JOIN read_parquet($accounts) AS listed USING (account_id)
WHERE held.entries IS DISTINCT FROM listed.entries
  OR (held.first_ms, held.first_seq, held.last_ms, held.last_seq, held.opening, held.closing)
    IS DISTINCT FROM
    (listed.first_ms, listed.first_seq, listed.last_ms, listed.last_seq, listed.opening, listed.closing)
