-- The rows of the first run of a chain.
CREATE TABLE rebuilt AS
SELECT indicator, iso3, year, value, ci_lo, ci_hi, projected, status
FROM read_parquet($observations);
