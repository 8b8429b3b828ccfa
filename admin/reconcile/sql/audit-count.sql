-- Number of audit entries in a part, up to and with an id.
SELECT count(*) AS entries FROM read_parquet($file) WHERE id_ms < $ms OR (id_ms = $ms AND id_seq <= $seq)
