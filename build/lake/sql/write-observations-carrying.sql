-- As write-observations.sql, plus the last good rows of series that could not be read in this run.
COPY (
  SELECT indicator, iso3, year, value, ci_lo, ci_hi, projected, status
  FROM lake_observations
  UNION ALL
  SELECT indicator, iso3, year, value, ci_lo, ci_hi, projected, status
  FROM read_parquet($previous)
  WHERE indicator IN (SELECT word FROM lake_words WHERE kind = 'carried')
  ORDER BY indicator, iso3, year
) TO $file (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 40960);
