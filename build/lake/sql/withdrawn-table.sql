CREATE TABLE withdrawn_before (indicator VARCHAR, iso3 VARCHAR, year INTEGER);
