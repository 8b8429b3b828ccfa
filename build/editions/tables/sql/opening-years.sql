-- The year that pages of each indicator of the published $files open on: the newest in which at least 70 % as many countries have
-- an observed figure as in the year with the most. Projected ones count where nothing is observed. Ranks of the year are comparable
-- with those of the year before where at least 90 % of the countries that are ranked in one of them are ranked in both.
INSERT INTO opening_years
WITH counts AS (
  SELECT
    planned.number, year,
    count(*) AS held, count(*) FILTER (NOT projected) AS observed,
    count(rank) AS ranked, count(rank_delta_1y) AS ranked_twice
  FROM read_parquet($files, filename = true) AS published
  JOIN planned ON planned.id = left(parse_filename(published.filename), -8)
  WHERE value IS NOT NULL
  GROUP BY ALL
),
years AS (
  SELECT *, CASE WHEN max(observed) OVER (PARTITION BY number) > 0 THEN observed ELSE held END AS countries
  FROM counts
)
SELECT
  years.number, years.year, years.ranked,
  years.ranked_twice >= 0.9 * greatest(years.ranked, coalesce(before.ranked, 0)) AS is_comparable
FROM (FROM years QUALIFY countries >= 0.7 * max(countries) OVER (PARTITION BY number)) AS years
LEFT JOIN counts AS before ON before.number = years.number AND before.year = years.year - 1
QUALIFY years.year = max(years.year) OVER (PARTITION BY years.number);
