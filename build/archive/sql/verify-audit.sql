SELECT count(*) AS entries, count(DISTINCT (id_ms, id_seq)) AS ids FROM read_parquet($entries);
