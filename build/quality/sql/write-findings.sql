-- The findings of a night, $findings as JSON.
COPY (
  SELECT finding.* FROM (SELECT unnest(from_json($findings, '[{
    "id": "VARCHAR", "kind": "VARCHAR", "severity": "VARCHAR", "provider": "VARCHAR", "indicator": "VARCHAR",
    "other": "VARCHAR", "countries": ["VARCHAR"], "years": ["INTEGER"], "extent": "DOUBLE", "message": "VARCHAR",
    "first_seen": "VARCHAR", "change": "VARCHAR", "decision": "VARCHAR", "reason": "VARCHAR",
    "lapsed": {"decision": "VARCHAR", "extent": "DOUBLE", "by": "VARCHAR", "on": "VARCHAR", "reason": "VARCHAR"}
  }]')) AS finding)
) TO $file (FORMAT parquet, COMPRESSION snappy, PARQUET_VERSION v1);
