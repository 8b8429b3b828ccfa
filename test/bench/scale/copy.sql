-- One copy of every series of a lake run: other slugs, and some countries' series under other countries' names.
COPY (
  SELECT
    $prefix || observations.indicator AS indicator, traded.taker AS iso3, year, value, ci_lo, ci_hi, projected, status
  FROM read_parquet($original) AS observations
  JOIN traded ON traded.giver = observations.iso3
  ORDER BY indicator, iso3, year
) TO $file (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 40960);
