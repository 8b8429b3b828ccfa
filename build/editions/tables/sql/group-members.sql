-- The figures of the published $files by indicator, country and year.
SELECT planned.number, files.iso3, files.year, files.value, files.projected
FROM read_parquet($files, filename = true) AS files
JOIN planned ON planned.id = left(parse_filename(files.filename), -8)
WHERE files.value IS NOT NULL
ORDER BY planned.number, files.iso3, files.year;
