-- Published files never change, so DuckDB may cache their footers.
SET GLOBAL parquet_metadata_cache = true;
