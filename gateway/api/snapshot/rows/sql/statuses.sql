-- What the source says of the rows of one indicator, in file order: of some countries, or of all where none is named.
SELECT status
FROM read_parquet($file)
WHERE (len($countries) = 0 OR list_contains($countries, iso3)) AND year BETWEEN $from AND $to
