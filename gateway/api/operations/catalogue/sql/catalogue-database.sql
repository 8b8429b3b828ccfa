-- The database of GET /almanac.duckdb. {url} and {edition} are replaced before it runs.

CREATE TABLE edition (
  id VARCHAR,
  published_at TIMESTAMP,
  url VARCHAR
);
COMMENT ON TABLE edition IS 'The snapshot that this database describes, and that its addresses ask for; times are UTC';

CREATE TABLE indicators (
  id VARCHAR,
  name VARCHAR,
  description VARCHAR,
  unit VARCHAR,
  topic VARCHAR,
  provider VARCHAR,
  access_tier VARCHAR,
  licence VARCHAR,
  licence_url VARCHAR,
  attribution VARCHAR,
  higher_is_better BOOLEAN,
  preferred BOOLEAN,
  featured BOOLEAN,
  no_rank BOOLEAN,
  n_rows INTEGER,
  n_countries INTEGER,
  yr_min INTEGER,
  yr_max INTEGER,
  latest_year INTEGER,
  url VARCHAR
);
COMMENT ON COLUMN indicators.n_rows IS 'What its file costs, in credits';
COMMENT ON COLUMN indicators.url IS 'Its file; null where the licence lets it be shown but not exported';

CREATE TABLE providers (
  id VARCHAR,
  name VARCHAR,
  licence VARCHAR,
  licence_url VARCHAR,
  attribution VARCHAR,
  n_indicators INTEGER,
  url VARCHAR
);
COMMENT ON COLUMN providers.url IS 'The file of all its indicators that may be exported; null where there is none';

CREATE TABLE topics (
  slug VARCHAR,
  name VARCHAR,
  description VARCHAR,
  n_indicators INTEGER,
  n_featured INTEGER,
  n_countries INTEGER
);

CREATE TABLE countries (
  iso3 VARCHAR,
  iso2 VARCHAR,
  m49 INTEGER,
  name VARCHAR,
  official_name VARCHAR,
  region VARCHAR,
  subregion VARCHAR,
  income_group VARCHAR,
  wb_code VARCHAR,
  capital VARCHAR,
  wikidata_id VARCHAR,
  flag_emoji VARCHAR
);

CREATE TABLE groups (
  id VARCHAR,
  name VARCHAR,
  members VARCHAR[],
  source VARCHAR,
  as_of DATE
);
COMMENT ON COLUMN groups.members IS 'ISO 3166-1 alpha-3 codes';

CREATE MACRO observations(id) AS TABLE
  FROM read_parquet('{url}/v1/files/' || id || '.parquet?as_of={edition}', hive_partitioning = false);

CREATE MACRO bundle(id) AS TABLE
  FROM read_parquet('{url}/v1/bundles/' || id || '.parquet?as_of={edition}', hive_partitioning = false);
