-- Lake runs and finished files never change, so what their footers say may be remembered.
SET GLOBAL parquet_metadata_cache = true;
