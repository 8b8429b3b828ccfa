-- What one figure was before each of the editions whose revisions are $files.
SELECT filename, old_value
FROM read_parquet($files, filename = true)
WHERE iso3 = $iso3 AND year = $year AND old_value IS NOT NULL AND new_value IS DISTINCT FROM old_value
