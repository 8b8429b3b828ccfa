-- Removes the rows that a run changed or withdrew; its new rows are inserted after.
DELETE FROM rebuilt
USING read_parquet($revisions) AS revised
WHERE rebuilt.indicator = revised.indicator
  AND rebuilt.iso3 = revised.iso3
  AND rebuilt.year = revised.year;
