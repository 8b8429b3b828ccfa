-- The revisions of one indicator, of several editions. EDITION_REVISION_COLUMNS of data/schema/snapshot.ts.
SELECT
  filename, iso3, year, kind,
  old_value, old_ci_lo, old_ci_hi, old_status, old_projected,
  new_value, new_ci_lo, new_ci_hi, new_status, new_projected
FROM read_parquet($files, filename = true)
WHERE list_contains($countries, iso3) AND year BETWEEN $from AND $to
