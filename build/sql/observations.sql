-- One indicator as it is published: enabled countries, ranks within each year, change against the year before.
-- Competition ranks (1, 2, 2, 4) among the countries with a value; the highest value is first unless $ascending.
COPY (
  WITH source AS (
    SELECT
      iso3, year, value, ci_lo, ci_hi,
      coalesce(projected, year >= $projected_from) AS projected
    FROM read_parquet($lake)
    WHERE indicator = $slug AND iso3 IN (SELECT iso3 FROM enabled)
  ), ranked AS (
    SELECT
      *,
      CASE WHEN value IS NOT NULL AND NOT $no_rank THEN
        rank() OVER (PARTITION BY year, value IS NULL ORDER BY CASE WHEN $ascending THEN value ELSE -value END)
      END::INTEGER AS rank
    FROM source
  )
  SELECT
    now.iso3, now.year, now.value, now.ci_lo, now.ci_hi, now.rank,
    (before.rank - now.rank)::INTEGER AS rank_delta_1y,
    now.projected
  FROM ranked AS now
  LEFT JOIN ranked AS before ON before.iso3 = now.iso3 AND before.year = now.year - 1
  ORDER BY now.iso3, now.year
) TO $file (FORMAT parquet, COMPRESSION snappy, PARQUET_VERSION v1);
