-- For each series $ids of money per person or in total, its figures against GDP per person, by the two ways of converting
-- currencies ($us and $international, both in current prices): the spread over countries and years of the logarithm of
-- the ratio is smaller for the right one. For base years: by year, the median distance from each, with its spread.
WITH figures AS MATERIALIZED (
  SELECT left(parse_filename(filename), -8) AS id, iso3, year, value
  FROM read_parquet($files, filename = true)
  WHERE value > 0 AND year >= 1990
), reference AS (
  SELECT us.iso3, us.year, us.value AS us, international.value AS international, people.value AS people
  FROM figures AS us
  JOIN figures AS international USING (iso3, year)
  LEFT JOIN figures AS people ON people.iso3 = us.iso3 AND people.year = us.year AND people.id = $population
  WHERE us.id = $us AND international.id = $international
), logarithms AS (
  SELECT
    id, year, ln(value) - ln(us) AS by_us, ln(value) - ln(international) AS by_international,
    ln(value) - ln(people) - ln(us) AS total_by_us, ln(value) - ln(people) - ln(international) AS total_by_international
  FROM figures
  JOIN reference USING (iso3, year)
), spreads AS (
  SELECT
    id, count(*)::INTEGER AS n,
    quantile_cont(by_us, 0.75) - quantile_cont(by_us, 0.25) AS us,
    quantile_cont(by_international, 0.75) - quantile_cont(by_international, 0.25) AS international,
    quantile_cont(total_by_us, 0.75) - quantile_cont(total_by_us, 0.25) AS total_us,
    quantile_cont(total_by_international, 0.75) - quantile_cont(total_by_international, 0.25) AS total_international
  FROM logarithms
  GROUP BY id
), yearly AS (
  SELECT
    id, year, median(by_us) AS us, median(by_international) AS international,
    quantile_cont(by_us, 0.75) - quantile_cont(by_us, 0.25) AS us_spread,
    quantile_cont(by_international, 0.75) - quantile_cont(by_international, 0.25) AS international_spread
  FROM logarithms
  GROUP BY id, year
  HAVING count(*) >= $min_countries
)
SELECT
  spreads.*,
  (
    SELECT list({
      year: year, us: us, international: international, us_spread: us_spread, international_spread: international_spread
    } ORDER BY year)
    FROM yearly
    WHERE yearly.id = spreads.id
  ) AS years
FROM spreads
WHERE n >= $min_values;
