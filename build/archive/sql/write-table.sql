-- The collected rows as a part holds them. The first columns of each table are the key by which it is sorted.
COPY (SELECT * FROM {table} ORDER BY ALL) TO $file (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 40960);
