-- The figures of one indicator in one edition: its rows with a value.
SELECT iso3, year, value, ci_lo, ci_hi, status, coalesce(projected, false) AS projected
FROM read_parquet($file)
WHERE value IS NOT NULL AND list_contains($countries, iso3) AND year BETWEEN $from AND $to
