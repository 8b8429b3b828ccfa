-- Archived entries of the audit log, as far as they were carried over.
SELECT count(*) AS entries FROM read_parquet($files) WHERE id_ms < $ms OR (id_ms = $ms AND id_seq <= $seq)
