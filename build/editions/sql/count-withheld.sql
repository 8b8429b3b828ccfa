-- The number of latest values of the withheld series $ids.
SELECT count(*)::INTEGER AS n FROM read_parquet($from) WHERE indicator IN (SELECT unnest($ids));
