-- The figures of the observations $files of `earlier_files`: the last ones of series that were withdrawn as a whole.
INSERT INTO withdrawn_before
SELECT DISTINCT earlier_files.number, iso3, year
FROM read_parquet($files, filename = true) AS observations
JOIN earlier_files ON earlier_files.file = observations.filename
WHERE value IS NOT NULL;
