-- Enabled countries, planned indicators, the catalogue, a row per indicator and country, and a row per indicator.
-- `number` is the position of an indicator's id among all ids.
CREATE TABLE enabled (iso3 VARCHAR PRIMARY KEY);
CREATE TABLE planned (
  number INTEGER, id VARCHAR, slug VARCHAR, projected_from INTEGER, ci_level DOUBLE, ascending BOOLEAN, no_rank BOOLEAN
);
CREATE TABLE catalogue (
  id VARCHAR, name VARCHAR, description VARCHAR, unit VARCHAR, topic VARCHAR, higher_is_better BOOLEAN,
  preferred BOOLEAN, featured BOOLEAN, access_tier VARCHAR, no_rank BOOLEAN, licence VARCHAR, licence_url VARCHAR,
  attribution VARCHAR, provider_id VARCHAR, provider_name VARCHAR,
  n_countries INTEGER, yr_min INTEGER, yr_max INTEGER, latest_year INTEGER
);
CREATE TABLE country_series (
  number INTEGER, iso3 VARCHAR, n_rows INTEGER, n_values INTEGER, yr_min INTEGER, yr_max INTEGER, latest_year INTEGER,
  latest STRUCT(
    year INTEGER, value DOUBLE, ci_lo DOUBLE, ci_hi DOUBLE, rank INTEGER, rank_delta_1y INTEGER
  )
);
CREATE TABLE opening_years (number INTEGER, year INTEGER, ranked INTEGER, is_comparable BOOLEAN);
