SELECT count(*) AS counted, coalesce(sum(credits), 0)::BIGINT AS credits FROM read_parquet($file);
