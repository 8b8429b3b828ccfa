-- The rows of `lake_batch` whose rank can be tested, best first within each series and year. That needs a declared level
-- and two bounds with the value between them.
SELECT
  number, year, iso3, ci_level,
  CASE WHEN ascending THEN -value ELSE value END AS score,
  CASE WHEN ascending THEN ci_hi - value ELSE value - ci_lo END AS margin_below,
  CASE WHEN ascending THEN value - ci_lo ELSE ci_hi - value END AS margin_above
FROM lake_batch
JOIN planned USING (number)
WHERE ci_level IS NOT NULL AND NOT no_rank AND value BETWEEN ci_lo AND ci_hi
ORDER BY number, year, score DESC;
