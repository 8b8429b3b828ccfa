-- The findings of a night.
SELECT * FROM read_parquet($file);
