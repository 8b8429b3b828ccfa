-- Copies one after another, as one lake file: each is sorted, and their prefixes sort as they come.
COPY (
  SELECT * FROM read_parquet($files)
) TO $file (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 40960);
