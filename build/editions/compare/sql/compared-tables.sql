-- The series to compare with their files in both editions, and what earlier editions withdrew from them.
CREATE OR REPLACE TABLE compared (number INTEGER, base VARCHAR, next VARCHAR);
CREATE OR REPLACE TABLE earlier_files (number INTEGER, file VARCHAR);
CREATE OR REPLACE TABLE withdrawn_before (number INTEGER, iso3 VARCHAR, year INTEGER);
