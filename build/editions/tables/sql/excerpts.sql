-- What pages show first of the published $files: the rows of the year that pages of each indicator open on, and all rows of the
-- $drawn countries that come first there: $well_known ones in their order, then by rank or value, then by name.
-- $countries: all, by name. A status is that of that year.
WITH published AS (
  SELECT planned.number, iso3, year, value, ci_lo, ci_hi, rank, rank_delta_1y, projected, status
  FROM read_parquet($files, filename = true) AS published
  JOIN planned ON planned.id = left(parse_filename(published.filename), -8)
),
drawn AS (
  SELECT number, iso3
  FROM published
  JOIN opening_years USING (number, year)
  WHERE value IS NOT NULL
  QUALIFY $drawn >= row_number() OVER (
    PARTITION BY number
    ORDER BY
      list_position($well_known, iso3) NULLS LAST, rank NULLS LAST, value DESC, list_position($countries, iso3)
  )
)
SELECT
  number,
  any_value(opening_years.year) AS year,
  coalesce(list(DISTINCT iso3 ORDER BY iso3) FILTER (drawn.iso3 IS NOT NULL), []) AS countries,
  list(iso3 ORDER BY iso3, published.year) AS rows,
  {
    year: list(published.year ORDER BY iso3, published.year),
    value: list(value ORDER BY iso3, published.year),
    ci_lo: list(ci_lo ORDER BY iso3, published.year),
    ci_hi: list(ci_hi ORDER BY iso3, published.year),
    rank: list(rank ORDER BY iso3, published.year),
    rank_delta_1y: list(rank_delta_1y ORDER BY iso3, published.year),
    projected: list(projected ORDER BY iso3, published.year)
  } AS columns,
  coalesce(list([iso3, status] ORDER BY iso3)
    FILTER (published.year = opening_years.year AND value IS NOT NULL AND status IS NOT NULL), []) AS statuses
FROM published
JOIN opening_years USING (number)
LEFT JOIN drawn USING (number, iso3)
WHERE published.year = opening_years.year OR drawn.iso3 IS NOT NULL
GROUP BY number;
