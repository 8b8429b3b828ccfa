-- The rows of one indicator for some countries within a range of years. Few rows: they are cheaper to turn into
-- columns in the gateway than expressions are to plan here (measured: 0.8 against 1.1 ms).
-- Whoever asks for countries wants observations, which say nothing of a change of rank: it is left in the file.
SELECT iso3, year, value, ci_lo, ci_hi, rank, projected
FROM read_parquet($file)
WHERE list_contains($countries, iso3) AND year BETWEEN $from AND $to
