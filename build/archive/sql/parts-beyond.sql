-- The parts that hold entries of some account beyond what has left its live ledger.
SELECT DISTINCT filename AS file
FROM read_parquet($accounts, filename = true) AS part
JOIN accounts_behind AS behind USING (account_id)
WHERE (part.last_ms, part.last_seq) > (behind.ms, behind.seq)
ORDER BY file;
