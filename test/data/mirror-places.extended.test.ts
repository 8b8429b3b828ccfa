/** Every place code and name in the mirror's files is known, or unknown as reviewed by hand. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { expect, it } from 'vitest';
import { loadCurated } from '../../data/curated/curated.ts';
import { describeWithMirror } from '../mirror.ts';

const { places, providers } = await loadCurated('data');

interface Source {
  files: string;
  column: string;
  schemes: string[];
  /** Neither a country, a group nor a former state; or an ambiguous name. */
  unknown: string[];
}

const SOURCES: Source[] = [
  {
    files: 'gapminder/countries-etc-datapoints/**',
    column: 'geo',
    schemes: providers.get('gapminder')?.places ?? [],
    // Bases, and a disputed territory.
    unknown: ['akr_a_dhe', 'cyp_nor'],
  },
  { files: 'imf-weo/ddf--entities--country.csv', column: 'country', schemes: ['iso3', 'imf'], unknown: [] },
  { files: 'undp-hdi/ddf--datapoints*.csv', column: 'country', schemes: ['undp', 'names'], unknown: [] },
  { files: 'undp-hdi/etl/source/HDR21*.csv', column: 'iso3', schemes: ['iso3', 'undp'], unknown: [] },
  { files: 'who-gho/**', column: 'COUNTRY', schemes: ['iso3', 'who'], unknown: [] },
  {
    files: 'world-bank/datahub-wdi-long/**',
    column: 'Country Code',
    schemes: ['iso3', 'worldbank'],
    unknown: [],
  },
  { files: 'sdmx/unicef/data/*.csv', column: 'REF_AREA', schemes: ['iso3', 'unicef'], unknown: [] },
  { files: 'owid/grapher/*.csv', column: 'Code', schemes: ['iso3', 'owid'], unknown: [] },
  {
    files: 'owid/owid-datasets/**',
    column: 'Entity',
    schemes: ['names'],
    unknown: [
      'Abkhazia',
      'England',
      'France (metropolitan)',
      'Korea',
      'Northern Cyprus',
      'Other non-specified areas',
      'Scotland',
      'Somaliland region',
      'South Ossetia',
      'Tibet',
      'Zanzibar',
    ],
  },
];

/** Files in the mirror. The last part of the pattern is a name with one `*`, or `**` for every CSV below. */
function matching(mirror: string, pattern: string): string[] {
  const cut = pattern.lastIndexOf('/');
  const [dir, name] = [join(mirror, pattern.slice(0, cut)), pattern.slice(cut + 1)];
  const recursive = name === '**';
  const [start = '', end = ''] = recursive ? ['', '.csv'] : name.split('*');
  return readdirSync(dir, { recursive, encoding: 'utf8' })
    .filter((file) => file.startsWith(start) && file.endsWith(end))
    .map((file) => join(dir, file));
}

/** The distinct texts of a column; empty for a file without it. */
function column(file: string, name: string): Set<string> {
  const found = new Set<string>();
  let at = -1;
  parse(readFileSync(file), {
    bom: true,
    relax_column_count: true,
    on_record: (record: string[], { lines }) => {
      const cell = record[at];
      if (lines === 1) at = record.indexOf(name);
      else if (cell) found.add(cell);
      return null;
    },
  });
  return found;
}

describeWithMirror('places in the mirror', (mirror) => {
  it.each(SOURCES)(
    '$column of $files',
    ({ files, column: name, schemes, unknown }) => {
      const found = new Set(matching(mirror, files).flatMap((file) => [...column(file, name)]));
      expect(found.size).toBeGreaterThan(100);
      const left = [...found].filter((code) => places.resolve(schemes, code).kind === 'unknown');
      expect(left.toSorted()).toEqual(unknown);
    },
    120_000,
  );
});
