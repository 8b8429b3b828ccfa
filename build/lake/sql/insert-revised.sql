-- Inserts the rows that a run changed or added.
INSERT INTO rebuilt
SELECT indicator, iso3, year, new_value, new_ci_lo, new_ci_hi, new_projected, new_status
FROM read_parquet($revisions)
WHERE new_row;
