-- Archived entries of the audit log in one part, as far as they were carried over.
SELECT count(*) AS entries FROM read_parquet($file) WHERE id_ms < $ms OR (id_ms = $ms AND id_seq <= $seq)
