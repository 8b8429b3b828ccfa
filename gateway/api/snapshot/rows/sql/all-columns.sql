-- All rows of one indicator as plain numbers, in file order (iso3, year), so that columns travel as typed arrays.
-- A missing number is NaN, a missing rank 0, a missing change -32768: none can be a published figure.
-- The country is packed into one integer, a byte a letter.
SELECT
  ord(iso3[1]) * 65536 + ord(iso3[2]) * 256 + ord(iso3[3]) AS country,
  year::INTEGER AS year,
  coalesce(value, 'nan'::DOUBLE) AS value,
  coalesce(ci_lo, 'nan'::DOUBLE) AS ci_lo,
  coalesce(ci_hi, 'nan'::DOUBLE) AS ci_hi,
  coalesce(rank, 0)::INTEGER AS rank,
  projected::UTINYINT AS projected,
  coalesce(rank_delta_1y, -32768)::INTEGER AS rank_delta_1y
FROM read_parquet($file)
