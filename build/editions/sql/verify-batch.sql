-- Compares `published_batch` with `lake_batch` by indicator. Ranks are computed independently of ranked-batch.sql:
-- 1 + the number of countries with a better value. Rank intervals must exist exactly where bounds allow them, contain
-- the rank, and end within the countries with a value. n_rows must equal n_expected; all other counts must be zero.
WITH value_counts AS (
  SELECT number, year, value, count(*) AS countries
  FROM lake_batch
  JOIN planned USING (number)
  WHERE value IS NOT NULL AND NOT no_rank
  GROUP BY number, year, value
), expected_ranks AS (
  SELECT
    number, year, value,
    1 + coalesce(sum(countries) OVER (
      PARTITION BY number, year ORDER BY CASE WHEN ascending THEN value ELSE -value END
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), 0) AS rank
  FROM value_counts
  JOIN planned USING (number)
), found AS (
  SELECT number, count(*) AS rows FROM published_batch GROUP BY number
), expected AS (
  SELECT number, count(*) AS rows FROM lake_batch GROUP BY number
), untraceable AS (
  SELECT published.number, count(*) AS rows
  FROM published_batch AS published
  ANTI JOIN lake_batch AS source
  ON published.number = source.number AND published.iso3 = source.iso3 AND published.year = source.year
    AND published.value IS NOT DISTINCT FROM source.value
    AND published.ci_lo IS NOT DISTINCT FROM source.ci_lo
    AND published.ci_hi IS NOT DISTINCT FROM source.ci_hi
    AND published.projected = source.projected
    AND published.status IS NOT DISTINCT FROM source.status
  GROUP BY published.number
), misranked AS (
  SELECT published.number, count(*) AS rows
  FROM published_batch AS published
  LEFT JOIN expected_ranks AS ranks ON ranks.number = published.number AND ranks.year = published.year
    AND ranks.value = published.value
  WHERE published.rank IS DISTINCT FROM ranks.rank
  GROUP BY published.number
), misplaced AS (
  SELECT published.number, count(*) AS rows
  FROM published_batch AS published
  LEFT JOIN published_batch AS before
  ON before.number = published.number AND before.iso3 = published.iso3 AND before.year = published.year - 1
  WHERE published.rank_delta_1y IS DISTINCT FROM before.rank - published.rank
  GROUP BY published.number
), ranked_countries AS (
  SELECT number, year, count(value) AS countries FROM lake_batch GROUP BY number, year
), misbounded AS (
  SELECT published.number, count(*) AS rows
  FROM published_batch AS published
  JOIN planned USING (number)
  JOIN ranked_countries AS ranked ON ranked.number = published.number AND ranked.year = published.year
  WHERE CASE
    WHEN ci_level IS NOT NULL AND NOT no_rank AND value BETWEEN ci_lo AND ci_hi
    THEN NOT coalesce(rank_lo >= 1 AND rank BETWEEN rank_lo AND rank_hi AND rank_hi <= ranked.countries, false)
    ELSE rank_lo IS NOT NULL OR rank_hi IS NOT NULL
  END
  GROUP BY published.number
)
SELECT
  planned.number,
  coalesce(found.rows, 0)::INTEGER AS n_rows,
  coalesce(expected.rows, 0)::INTEGER AS n_expected,
  coalesce(untraceable.rows, 0)::INTEGER AS n_untraceable,
  coalesce(misranked.rows, 0)::INTEGER AS n_misranked,
  coalesce(misplaced.rows, 0)::INTEGER AS n_misplaced,
  coalesce(misbounded.rows, 0)::INTEGER AS n_misbounded
FROM planned
LEFT JOIN found USING (number)
LEFT JOIN expected USING (number)
LEFT JOIN untraceable USING (number)
LEFT JOIN misranked USING (number)
LEFT JOIN misplaced USING (number)
LEFT JOIN misbounded USING (number)
WHERE planned.number IN (SELECT unnest($numbers))
ORDER BY planned.number;
