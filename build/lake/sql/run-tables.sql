-- The rows of one run, and the slugs of its series by number.
CREATE TABLE lake_rows (
  series INTEGER, iso3 VARCHAR, year INTEGER, value DOUBLE, ci_lo DOUBLE, ci_hi DOUBLE, projected BOOLEAN, status VARCHAR
);
CREATE TABLE lake_series (series INTEGER, slug VARCHAR);
