-- Values out of 0 to 100 in the $files of shares, beyond $slack for rounding: how many, where, when, and the farthest.
SELECT
  left(parse_filename(filename), -8) AS id,
  count(*)::INTEGER AS found,
  list(DISTINCT iso3 ORDER BY iso3) AS countries,
  min(year) AS first_year,
  max(year) AS last_year,
  max_by({iso3: iso3, year: year, value: value}, abs(value - 50)) AS worst
FROM read_parquet($files, filename = true)
WHERE value > 100 + $slack OR value < -$slack
GROUP BY ALL
ORDER BY id;
