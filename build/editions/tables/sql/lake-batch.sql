-- The publishable lake rows of the indicators $numbers, which lie between the slugs $first and $last of one lake file.
-- The file is sorted by slug, so other row groups are not read.
CREATE OR REPLACE TABLE lake_batch AS
SELECT
  planned.number, lake.iso3, lake.year, lake.value, lake.ci_lo, lake.ci_hi,
  coalesce(lake.projected, lake.year >= planned.projected_from) AS projected,
  lake.status
FROM read_parquet($lake) AS lake
JOIN planned ON planned.slug = lake.indicator
WHERE lake.indicator BETWEEN $first AND $last
  AND planned.number IN (SELECT unnest($numbers))
  AND lake.iso3 IN (SELECT iso3 FROM enabled);
