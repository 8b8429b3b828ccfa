-- How many countries are certainly better or worse, by row of `lake_batch`.
CREATE OR REPLACE TABLE comparisons (number INTEGER, year INTEGER, iso3 VARCHAR, n_better INTEGER, n_worse INTEGER);
