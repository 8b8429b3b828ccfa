-- The upstream files of one run; SOURCE_COLUMNS of data/schema/lake.ts.
CREATE TABLE sources (
  url VARCHAR, reference VARCHAR, sha256 VARCHAR, bytes BIGINT, fetched_at VARCHAR, confirmed_at VARCHAR,
  series VARCHAR[], carried BOOLEAN
);
