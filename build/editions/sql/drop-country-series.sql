-- Everything has been read off it; the rest of the build has its memory for batches.
DROP TABLE country_series;
