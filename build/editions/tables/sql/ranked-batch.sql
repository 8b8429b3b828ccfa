-- The rows of `lake_batch` with ranks within each year and the change since the year before.
-- Competition ranking (1, 2, 2, 4) of the countries with a value; the highest value is first unless `ascending`.
-- The interval of a rank leaves out the countries that are certainly better or certainly worse (`comparisons`).
CREATE OR REPLACE TABLE ranked_batch AS
WITH ranked AS (
  SELECT
    rows.*,
    CASE WHEN value IS NOT NULL AND NOT planned.no_rank THEN
      rank() OVER (
        PARTITION BY number, year, value IS NULL
        ORDER BY CASE WHEN planned.ascending THEN value ELSE -value END
      )
    END::INTEGER AS rank,
    count(value) OVER (PARTITION BY number, year) AS ranked_countries
  FROM lake_batch AS rows
  JOIN planned USING (number)
)
SELECT
  now.number, now.iso3, now.year, now.value, now.ci_lo, now.ci_hi, now.rank,
  (before.rank - now.rank)::INTEGER AS rank_delta_1y,
  now.projected, now.status,
  (1 + comparisons.n_better)::INTEGER AS rank_lo,
  (now.ranked_countries - comparisons.n_worse)::INTEGER AS rank_hi
FROM ranked AS now
LEFT JOIN ranked AS before
  ON before.number = now.number AND before.iso3 = now.iso3 AND before.year = now.year - 1
LEFT JOIN comparisons
  ON comparisons.number = now.number AND comparisons.iso3 = now.iso3 AND comparisons.year = now.year
ORDER BY now.number, now.iso3, now.year;
