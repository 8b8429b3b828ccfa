-- As lake-write, and the last good rows of the series that could not be read this time.
COPY (
  SELECT indicator, iso3, year, value, ci_lo, ci_hi, projected, status
  FROM lake_observations
  UNION ALL
  SELECT indicator, iso3, year, value, ci_lo, ci_hi, projected, status
  FROM read_parquet($previous)
  WHERE indicator IN (SELECT word FROM lake_words WHERE kind = 'carried')
  ORDER BY indicator, iso3, year
) TO $file (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 40960);
