-- The rows of one indicator within a range of years and, unless the list is empty, of the countries in $countries.
-- Columns are those of slice.sql. $first and $last bound the list: readers prune row groups by them.
SELECT
  ord(iso3[1]) * 65536 + ord(iso3[2]) * 256 + ord(iso3[3]) AS country,
  year::INTEGER AS year,
  coalesce(value, 'nan'::DOUBLE) AS value,
  coalesce(ci_lo, 'nan'::DOUBLE) AS ci_lo,
  coalesce(ci_hi, 'nan'::DOUBLE) AS ci_hi,
  coalesce(rank, 0)::INTEGER AS rank,
  coalesce(rank_delta_1y, -32768)::INTEGER AS rank_delta_1y,
  projected::UTINYINT AS projected
FROM read_parquet($file)
WHERE iso3 BETWEEN $first AND $last
  AND (len($countries) = 0 OR list_contains($countries, iso3))
  AND year BETWEEN $from AND $to
