-- Values outside $low to $high in $files: how many, where, when, and the farthest.
SELECT
  left(parse_filename(filename), -8) AS id,
  count(*)::INTEGER AS found,
  list(DISTINCT iso3 ORDER BY iso3) AS countries,
  min(year) AS first_year,
  max(year) AS last_year,
  max_by({iso3: iso3, year: year, value: value}, greatest(value - $high, $low - value)) AS worst
FROM read_parquet($files, filename = true)
WHERE value > $high OR value < $low
GROUP BY ALL
ORDER BY id;
