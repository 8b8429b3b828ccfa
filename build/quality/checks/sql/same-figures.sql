-- Pairs of series with the same figures, powers of ten apart at most: the digits of the values of some years, to four of
-- them. Values of one digit and digits that many series share tell nothing.
WITH digits AS MATERIALIZED (
  SELECT
    left(parse_filename(filename), -8) AS id,
    iso3,
    year,
    floor(log10(abs(value)))::INTEGER AS exponent,
    (sign(value) * round(abs(value) / pow(10, floor(log10(abs(value)))) * 1000))::INTEGER AS mantissa
  FROM read_parquet($files, filename = true)
  WHERE year IN (2000, 2007, 2014) AND abs(value) > 1e-300 AND isfinite(value) AND mantissa % 1000 <> 0
), telling AS MATERIALIZED (
  SELECT * FROM digits
  QUALIFY count(*) OVER (PARTITION BY iso3, year, mantissa) BETWEEN 2 AND 12
), equal AS (
  SELECT
    a.id AS a, b.id AS b, count(*) AS equal, mode(b.exponent - a.exponent) AS shift, min(a.year) AS first_year, max(a.year) AS last_year
  FROM telling AS a
  JOIN telling AS b USING (iso3, year, mantissa)
  WHERE a.id < b.id
  GROUP BY a.id, b.id
  HAVING count(*) >= $min_equal AND count(DISTINCT abs(a.mantissa)) >= $min_different
), common AS (
  SELECT equal.a, equal.b, count(*) AS common
  FROM equal
  JOIN digits AS x ON x.id = equal.a
  JOIN digits AS y ON y.id = equal.b AND y.iso3 = x.iso3 AND y.year = x.year
  GROUP BY equal.a, equal.b
)
SELECT a, b, equal::INTEGER AS equal, common::INTEGER AS common, shift::INTEGER AS shift, first_year, last_year
FROM equal
JOIN common USING (a, b)
WHERE equal >= $min_share * common
ORDER BY a, b;
