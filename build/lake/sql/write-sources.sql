-- The upstream files of one run, $files as JSON; SOURCE_COLUMNS of data/schema/lake.ts.
COPY (
  WITH files AS (
    SELECT unnest(from_json($files, '[{
      "url": "VARCHAR", "reference": "VARCHAR", "sha256": "VARCHAR", "bytes": "BIGINT", "fetched_at": "VARCHAR",
      "confirmed_at": "VARCHAR", "series": ["VARCHAR"], "carried": "BOOLEAN"
    }]')) AS file
  )
  SELECT file.* FROM files ORDER BY file.url, file.reference, file.sha256
) TO $file (FORMAT parquet, COMPRESSION zstd);
