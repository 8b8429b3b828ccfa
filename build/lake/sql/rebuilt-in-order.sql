SELECT indicator, iso3, year, value, ci_lo, ci_hi, projected, status
FROM rebuilt
ORDER BY indicator, iso3, year;
