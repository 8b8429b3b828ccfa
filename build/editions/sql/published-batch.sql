-- The rows of the published $files.
CREATE OR REPLACE TABLE published_batch AS
SELECT planned.number, published.* EXCLUDE (filename)
FROM read_parquet($files, filename = true) AS published
JOIN planned ON planned.id = left(parse_filename(published.filename), -8);
