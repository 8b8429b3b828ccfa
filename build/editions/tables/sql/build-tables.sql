-- Enabled countries, planned indicators, a row per indicator and country, and a row per indicator.
-- `number` is the position of an indicator's id among all ids.
CREATE TABLE enabled (iso3 VARCHAR PRIMARY KEY);
CREATE TABLE planned (
  number INTEGER, id VARCHAR, slug VARCHAR, projected_from INTEGER, ci_level DOUBLE, ascending BOOLEAN, no_rank BOOLEAN,
  topic VARCHAR
);
CREATE TABLE country_series (
  number INTEGER, iso3 VARCHAR, n_rows INTEGER, n_values INTEGER, yr_min INTEGER, yr_max INTEGER, latest_year INTEGER,
  latest STRUCT(
    year INTEGER, value DOUBLE, ci_lo DOUBLE, ci_hi DOUBLE, rank INTEGER, rank_delta_1y INTEGER
  )
);
CREATE TABLE opening_years (number INTEGER, year INTEGER, ranked INTEGER, is_comparable BOOLEAN);
