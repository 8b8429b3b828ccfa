-- Holds one published file against the lake, ranks computed in another way than when it was made: one more than the
-- number of countries with a strictly better value. All four numbers but the first two must be zero; those are equal.
WITH published AS (
  SELECT * FROM read_parquet($file)
), source AS (
  SELECT iso3, year, value, ci_lo, ci_hi, coalesce(projected, year >= $projected_from) AS projected
  FROM read_parquet($lake)
  WHERE indicator = $slug AND iso3 IN (SELECT iso3 FROM enabled)
), steps AS (
  SELECT year, value, count(*) AS countries
  FROM source
  WHERE value IS NOT NULL AND NOT $no_rank
  GROUP BY year, value
), standing AS (
  SELECT
    year, value,
    1 + coalesce(sum(countries) OVER (
      PARTITION BY year ORDER BY CASE WHEN $ascending THEN value ELSE -value END
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), 0) AS rank
  FROM steps
)
SELECT
  (SELECT count(*) FROM published)::INTEGER AS n_rows,
  (SELECT count(*) FROM source)::INTEGER AS n_expected,
  (
    SELECT count(*) FROM published ANTI JOIN source
    ON published.iso3 = source.iso3 AND published.year = source.year
      AND published.value IS NOT DISTINCT FROM source.value
      AND published.ci_lo IS NOT DISTINCT FROM source.ci_lo
      AND published.ci_hi IS NOT DISTINCT FROM source.ci_hi
      AND published.projected = source.projected
  )::INTEGER AS n_untraceable,
  (
    SELECT count(*) FROM published
    LEFT JOIN standing ON standing.year = published.year AND standing.value = published.value
    WHERE published.rank IS DISTINCT FROM standing.rank
  )::INTEGER AS n_misranked,
  (
    SELECT count(*) FROM published
    LEFT JOIN published AS before ON before.iso3 = published.iso3 AND before.year = published.year - 1
    WHERE published.rank_delta_1y IS DISTINCT FROM before.rank - published.rank
  )::INTEGER AS n_misplaced;
