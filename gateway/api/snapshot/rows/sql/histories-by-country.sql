-- All rows of one indicator for some countries: the columns of columns-by-country.sql, and what the source says of each.
SELECT iso3, year, value, ci_lo, ci_hi, rank, projected, status
FROM read_parquet($file)
WHERE list_contains($countries, iso3)
