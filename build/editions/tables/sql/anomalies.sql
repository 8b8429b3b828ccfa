-- Anomalies in the history of single countries, in the published $files. Only observed values count, except for changes of
-- unit. $numbers: series whose values can be computed with.
--
-- y is the logarithm to base 10; where more than 0.5 % of a series is negative, asinh of the value by the series' geometric
-- mean, which is linear near 0. d is the change of y between neighbouring values of a country. A change is judged by three
-- scales: the 99 % and 99.9 % quantiles of |d| in the series (its tail), and the 75 % quantile in the country (its noise).
-- So a jump counts only where such jumps occur neither in this series nor in this country.
WITH figures AS MATERIALIZED (
  SELECT planned.number, iso3, year, value, projected
  FROM read_parquet($files, filename = true) AS files
  JOIN planned ON planned.id = left(parse_filename(files.filename), -8)
  WHERE value IS NOT NULL AND number IN (SELECT unnest($numbers))
), published AS (
  SELECT number, iso3, year, value FROM figures WHERE NOT projected
), series AS (
  SELECT
    number,
    count(*) FILTER (value < 0) > 0.005 * count(*) AS signed,
    exp(avg(ln(abs(nullif(value, 0))))) AS size
  FROM published
  GROUP BY number
), all_changes AS MATERIALIZED (
  SELECT
    number, iso3, year, value, projected, y, y - lag(y) OVER country AS d,
    value = lag(value) OVER country AND year - lag(year) OVER country = 1 AS is_repeat,
    -- more than three digits: equal values are no coincidence of rounding
    CASE
      WHEN value NOT IN (0, 100)
      THEN abs(value - round(value, 2 - floor(log10(abs(value)))::INTEGER)) > 1e-9 * abs(value)
      ELSE false
    END AS is_precise
  FROM (
    SELECT
      number, iso3, year, value, projected,
      CASE WHEN signed THEN asinh(value / size) / ln(10) WHEN value > 0 THEN log10(value) END AS y
    FROM figures
    JOIN series USING (number)
  )
  WINDOW country AS (PARTITION BY number, iso3 ORDER BY year)
), changes AS (
  FROM all_changes WHERE NOT projected
), bins AS ( -- quantiles from counts, because sorting millions of values takes longer than all else here
  SELECT number, least(floor(abs(d) * 50), 250) / 50 AS at_least, count(*) AS n
  FROM changes
  WHERE d IS NOT NULL
  GROUP BY ALL
), cumulated AS (
  SELECT
    number, at_least,
    sum(n) OVER (PARTITION BY number ORDER BY at_least DESC) AS above,
    sum(n) OVER (PARTITION BY number) AS total
  FROM bins
), tails AS (
  SELECT
    number,
    0.02 + max(at_least) FILTER (above > greatest(0.01 * total, 2)) AS common_tail,
    0.02 + CASE
      WHEN any_value(total) >= 1000 THEN max(at_least) FILTER (above > greatest(0.001 * total, 2))
      ELSE 1.5 * max(at_least) FILTER (above > greatest(0.01 * total, 2))
    END AS tail
  FROM cumulated
  GROUP BY number
), suspects AS (
  SELECT DISTINCT number, iso3
  FROM changes
  JOIN tails USING (number)
  WHERE abs(d) > 0.1 AND (abs(d) > 3 * tail OR abs(d) > 0.85 AND abs(d) > 1.2 * common_tail)
), histories AS (
  SELECT
    number, iso3, year, value, d, common_tail, tail,
    lag(value) OVER country AS previous,
    lead(value) OVER country AS next,
    lead(d) OVER country AS d_next,
    quantile_cont(abs(d), 0.75) OVER (PARTITION BY number, iso3) AS noise,
    count(d) OVER (PARTITION BY number, iso3) AS n
  FROM changes
  SEMI JOIN suspects USING (number, iso3)
  JOIN tails USING (number)
  WINDOW country AS (PARTITION BY number, iso3 ORDER BY year)
), jumps AS (
  SELECT
    *,
    round(abs(d)) IN (1, 2, 3, 4, 5, 6, 9) AND value * previous > 0
      AND abs(abs(d) - round(abs(d))) <= least(0.1, greatest(0.02, 1.5 * noise))
      AND abs(log10(abs(value)) - log10(abs(previous))) > 0.8 AS is_power,
    d_next IS NOT NULL AND sign(d_next) <> sign(d) AND abs(d + d_next) <= greatest(0.15, 3 * noise) AS returns
  FROM histories
  WHERE n >= 5 AND abs(d) > 0.1 AND abs(d) > 5 * noise AND value <> 0 AND previous <> 0
), found AS (
  SELECT
    number, iso3, year, value, previous, next, d,
    CASE
      WHEN is_power AND returns AND abs(d) > 1.2 * common_tail THEN 'decimal_slip'
      WHEN returns AND abs(d) > 3 * tail THEN 'isolated_value'
      WHEN abs(d) > 3 * tail
        OR is_power AND (abs(d) > 1.3 * tail
          OR abs(d) > 2 * common_tail AND abs(d) > 12 * noise AND coalesce(abs(d_next), 0) < 0.15) THEN 'level_break'
    END AS kind
  FROM jumps
), returned AS ( -- the way back of an isolated value is no finding of its own
  SELECT number, iso3, year, kind
  FROM found
  WHERE kind IN ('decimal_slip', 'isolated_value')
), country_anomalies AS (
  SELECT number, kind, iso3, year, NULL::INTEGER AS until, value, previous, next, d AS size
  FROM found
  WHERE kind IS NOT NULL AND NOT EXISTS (
    FROM returned
    WHERE returned.number = found.number AND returned.iso3 = found.iso3 AND found.previous IS NOT NULL
      AND found.kind = 'level_break' AND returned.year < found.year AND returned.year >= found.year - 5
  )
), shifted_years AS (
  SELECT number, year, count(*) AS n
  FROM all_changes
  WHERE d IS NOT NULL
  GROUP BY number, year
  HAVING n >= 10 AND greatest(count(*) FILTER (d > 0.4), count(*) FILTER (d < -0.4)) >= 0.8 * n
), shifts AS (
  SELECT number, year, median(d) AS size, quantile_cont(d, 0.75) - quantile_cont(d, 0.25) AS spread
  FROM all_changes
  SEMI JOIN shifted_years USING (number, year)
  GROUP BY number, year
), precise_repeats AS (
  SELECT number, iso3, year, value FROM changes WHERE is_repeat AND is_precise
), repeated AS (
  SELECT number, iso3, any_value(value) AS value, min(year) - 1 AS year, max(year) AS until
  FROM (
    SELECT *, year - row_number() OVER (PARTITION BY number, iso3 ORDER BY year) AS run FROM precise_repeats
  )
  GROUP BY number, iso3, run, value
  HAVING count(*) >= 6
), repeating AS ( -- series that repeat values by their nature: areas, legal terms
  SELECT number
  FROM (SELECT number, count(*) AS n FROM precise_repeats GROUP BY number)
  JOIN (SELECT number, count(*) AS total FROM published GROUP BY number) USING (number)
  WHERE n > 0.02 * total
), by_year AS (
  SELECT number, year, count(is_repeat) AS n, count(*) FILTER (is_repeat) AS same
  FROM changes
  WHERE value NOT IN (0, 100)
  GROUP BY number, year
), stale_years AS ( -- in which most countries repeat the year before, in a series where that is rare
  SELECT number, year, same
  FROM by_year
  JOIN (
    SELECT
      number, sum(n) FILTER (same < 0.8 * n) AS usual, sum(same) FILTER (same < 0.8 * n) AS usual_same,
      sum(n) AS all_n
    FROM by_year
    GROUP BY number
  ) USING (number)
  WHERE same >= 20 AND same >= 0.8 * n AND usual >= 0.7 * all_n AND usual_same <= 0.2 * usual
), alike AS ( -- two countries with one history, in a series where no others have one
  SELECT number, list(iso3) AS countries, any_value(first_year) AS year, any_value(last_year) AS until, any_value(n) AS n
  FROM (
    SELECT
      number, iso3, bit_xor(hash(year, value)) AS history, count(*) AS n,
      min(year) AS first_year, max(year) AS last_year
    FROM changes
    GROUP BY number, iso3
    HAVING count(*) FILTER (is_precise AND NOT coalesce(is_repeat, false)) >= 8
  )
  GROUP BY number, history
  HAVING count(*) > 1
  QUALIFY count(*) OVER (PARTITION BY number) = 1 AND len(countries) = 2
), signs AS (
  SELECT
    number, iso3, year, value, lag(value) OVER country AS previous, lead(value) OVER country AS next,
    count(*) OVER (PARTITION BY number, iso3) AS n,
    count(*) FILTER (value < 0) OVER (PARTITION BY number, iso3) AS negative
  FROM published
  SEMI JOIN (FROM series WHERE NOT signed) USING (number)
  SEMI JOIN (SELECT DISTINCT number, iso3 FROM published WHERE value < 0) USING (number, iso3)
  WINDOW country AS (PARTITION BY number, iso3 ORDER BY year)
), anomalies AS (
  FROM country_anomalies
  UNION ALL
  SELECT number, 'unit_change', NULL, year, NULL, NULL, NULL, NULL, size FROM shifts WHERE spread < 0.2
  UNION ALL
  SELECT number, 'frozen_values', iso3, year, until, value, NULL, NULL, until - year
  FROM repeated
  ANTI JOIN repeating USING (number)
  UNION ALL
  SELECT number, 'frozen_values', NULL, year, year, NULL, NULL, NULL, same FROM stale_years
  UNION ALL
  SELECT number, 'same_figures_places', unnest(countries), year, until, NULL, NULL, NULL, n FROM alike
  UNION ALL
  SELECT number, 'sign_flip', iso3, year, NULL, value, previous, next, 0
  FROM signs
  WHERE value < 0 AND negative = 1 AND n >= 8
    AND abs(value) BETWEEN 0.8 * least(previous, next) AND 1.25 * greatest(previous, next)
)
SELECT
  id,
  list({
    kind: kind, iso3: iso3, year: year, until: until, value: value, previous: previous, next: next, size: size
  } ORDER BY kind, abs(size) DESC, iso3, year)[:300] AS anomalies
FROM anomalies
JOIN planned USING (number)
GROUP BY id
ORDER BY id;
