-- Days with archived debits.
SELECT DISTINCT day FROM read_parquet($files) WHERE day IS NOT NULL AND of_day <> 0
