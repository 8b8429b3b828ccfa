-- Rates and totals of a provider ($rates, $totals: ids) with the same figures: the rate is the total by the population
-- ($population), times a factor that is the same in nearly all countries and years.
WITH figures AS MATERIALIZED (
  SELECT left(parse_filename(filename), -8) AS id, iso3, year, value
  FROM read_parquet($files, filename = true)
  WHERE value > 0 AND year IN (2000, 2010)
), rates AS (
  SELECT * FROM figures WHERE list_contains($rates, id)
), totals AS (
  SELECT total.id, total.iso3, total.year, ln(total.value) - ln(people.value) AS per_head
  FROM figures AS total
  JOIN figures AS people ON people.id = $population AND people.iso3 = total.iso3 AND people.year = total.year
  WHERE list_contains($totals, total.id)
), ratios AS (
  SELECT rates.id AS rate, totals.id AS total, ln(rates.value) - totals.per_head AS ratio
  FROM rates
  JOIN totals ON totals.iso3 = rates.iso3 AND totals.year = rates.year
  WHERE split_part(totals.id, '.', 1) = split_part(rates.id, '.', 1)
), centred AS (
  SELECT rate, total, ratio, median(ratio) OVER (PARTITION BY rate, total) AS centre FROM ratios
)
SELECT rate, total, count(*)::INTEGER AS common, exp(any_value(centre)) AS factor
FROM centred
GROUP BY rate, total
HAVING count(*) >= $min_common AND avg((abs(ratio - centre) <= $slack)::INTEGER) >= $min_share;
