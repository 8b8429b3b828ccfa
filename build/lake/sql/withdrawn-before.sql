-- The figures of the series in $changed that the revisions $earlier withdrew.
INSERT INTO withdrawn_before
SELECT DISTINCT indicator, iso3, year
FROM read_parquet($earlier)
WHERE kind = 'withdrawn' AND indicator IN (SELECT unnest($changed));
