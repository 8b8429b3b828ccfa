-- Writes one series of `revision_batch`; EDITION_REVISION_COLUMNS of data/schema/snapshot.ts.
COPY (
  SELECT
    iso3, year, kind, old_value, new_value, old_ci_lo, new_ci_lo, old_ci_hi, new_ci_hi,
    old_status, new_status, old_projected, new_projected
  FROM revision_batch
  WHERE number = $number
  ORDER BY iso3, year
) TO $file (FORMAT parquet, COMPRESSION snappy, PARQUET_VERSION v1);
