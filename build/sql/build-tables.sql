-- The countries that are served, and what is published of each indicator and country.
CREATE TABLE enabled (iso3 VARCHAR PRIMARY KEY);
CREATE TABLE catalogue (
  id VARCHAR, name VARCHAR, description VARCHAR, unit VARCHAR, topic VARCHAR, higher_is_better BOOLEAN,
  preferred BOOLEAN, featured BOOLEAN, access_tier VARCHAR, no_rank BOOLEAN, licence VARCHAR, licence_url VARCHAR,
  attribution VARCHAR, provider_id VARCHAR, provider_name VARCHAR,
  n_countries INTEGER, yr_min INTEGER, yr_max INTEGER, latest_year INTEGER
);
