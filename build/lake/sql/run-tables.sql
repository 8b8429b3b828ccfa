-- The rows of one run as numbers. `slug`, `country` and `status` are dictionary codes of lake_words; a missing number
-- is NaN; `projected` is 0 (no), 1 (yes) or 2 (not stated).
CREATE TABLE lake_rows (
  slug INTEGER, country SMALLINT, year INTEGER,
  value DOUBLE, ci_lo DOUBLE, ci_hi DOUBLE,
  projected SMALLINT, status INTEGER
);
CREATE TABLE lake_words (kind VARCHAR, number INTEGER, word VARCHAR);
CREATE VIEW lake_series AS
SELECT number, word AS slug, row_number() OVER (ORDER BY word) AS place FROM lake_words WHERE kind = 'slug';
CREATE VIEW lake_observations AS
SELECT
  series.slug AS indicator,
  countries.word AS iso3,
  rows.year,
  nullif(rows.value, 'nan') AS value,
  nullif(rows.ci_lo, 'nan') AS ci_lo,
  nullif(rows.ci_hi, 'nan') AS ci_hi,
  CASE rows.projected WHEN 0 THEN false WHEN 1 THEN true END AS projected,
  statuses.word AS status,
  series.place,
  rows.country
FROM lake_rows AS rows
JOIN lake_series AS series ON series.number = rows.slug
JOIN lake_words AS countries ON countries.kind = 'country' AND countries.number = rows.country
LEFT JOIN lake_words AS statuses ON statuses.kind = 'status' AND statuses.number = rows.status;
