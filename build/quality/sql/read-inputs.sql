-- What the findings of a night depended on.
SELECT decode(value) AS inputs FROM parquet_kv_metadata($file) WHERE decode(key) = 'inputs';
