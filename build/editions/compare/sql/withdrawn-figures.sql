-- The figures that the revisions $files of `earlier_files` withdrew.
INSERT INTO withdrawn_before
SELECT DISTINCT earlier_files.number, iso3, year
FROM read_parquet($files, filename = true) AS revisions
JOIN earlier_files ON earlier_files.file = revisions.filename
WHERE kind = 'withdrawn';
