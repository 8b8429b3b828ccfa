-- One page of the audit log in one part, newest first; an empty subject means all subjects.
SELECT *
FROM read_parquet($file)
WHERE (id_ms < $ms OR (id_ms = $ms AND id_seq < $seq)) AND ($subject = '' OR subject = $subject)
ORDER BY id_ms DESC, id_seq DESC
LIMIT $limit
