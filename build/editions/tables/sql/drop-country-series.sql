-- Frees memory for the batches that follow.
DROP TABLE country_series;
