-- Who bears whose series in one copy. $share percent of the countries hand theirs on, each to the next of them in an
-- order of this copy; the rest, and every country of copy 0, keep their own.
CREATE OR REPLACE TABLE traded AS
WITH countries AS (
  SELECT DISTINCT iso3 FROM read_parquet($original)
), moved AS (
  SELECT iso3, row_number() OVER (ORDER BY hash(iso3, $copy::INTEGER), iso3) AS place, count(*) OVER () AS moving
  FROM countries
  WHERE $copy > 0 AND hash($copy::INTEGER, iso3) % 100 < $share
)
SELECT
  countries.iso3 AS giver,
  coalesce(next.iso3, countries.iso3) AS taker
FROM countries
LEFT JOIN moved ON moved.iso3 = countries.iso3
LEFT JOIN moved AS next ON next.place = moved.place % moved.moving + 1;
