-- Whether the source of an indicator flags any of its figures.
SELECT count(status) > 0 FROM read_parquet($file)
