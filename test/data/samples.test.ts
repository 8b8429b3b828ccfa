/** The sample providers refer to files and years that the installed packages have. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadCurated } from '../../data/curated/curated.ts';

const { providers, places, countries } = await loadCurated('data');
const samples = [...providers.values()].filter(({ sample }) => sample);

const table = z.strictObject({
  file: z.string(),
  format: z.enum(['json', 'csv', 'module']),
  rows: z.string().optional(),
  year: z.union([z.string(), z.strictObject({ fixed: z.int() })]),
});
const source = z.strictObject({
  package: z.string(),
  tables: z.array(table).min(1),
  shape: z.enum(['rows', 'map']).default('rows'),
  place: z.string().optional(),
  values: z.record(
    z.string(),
    z.strictObject({
      column: z.string().optional(),
      name: z.string(),
      unit: z.string(),
      description: z.string(),
    }),
  ),
});
type Source = z.infer<typeof source>;

const at = (value: unknown, path: string | undefined): unknown =>
  (path?.split('.') ?? []).reduce<unknown>(
    (inner, key) => (inner !== null && typeof inner === 'object' ? Reflect.get(inner, key) : undefined),
    value,
  );

/** The records of a table with their keys, read independently of the connector. */
async function records(from: Source, { file, format, rows }: z.infer<typeof table>) {
  const path = join('node_modules', from.package, file);
  const whole: unknown =
    format === 'json'
      ? JSON.parse(readFileSync(path, 'utf8'))
      : await import(/* @vite-ignore */ pathToFileURL(path).href);
  const found = at(whole, rows);
  if (found === null || typeof found !== 'object') throw new Error(`${file} holds nothing at ${rows}`);
  return Object.entries(found);
}

/** What a record lacks of its definition, or null. */
function faultOf(from: Source, { year }: z.infer<typeof table>, record: unknown): string | null {
  if (typeof year === 'string' && !Number.isInteger(at(record, year))) return `no year at ${year}`;
  for (const [slug, { column }] of Object.entries(from.values)) {
    if (!Number.isFinite(Number(at(record, column)))) return `no number for ${slug}`;
  }
  return null;
}

describe('sample providers', () => {
  it('exist, so that a fresh checkout has data', () => {
    expect(samples.map(({ id }) => id)).toEqual(['electricity-maps', 'green-web', 'vega-gapminder']);
  });

  it.each(samples.map((definition) => [definition.id, definition] as const))(
    '%s: files, columns, years and places are in the package',
    async (_, definition) => {
      const from = source.parse(definition.source);
      const known = new Set<string>();
      for (const one of from.tables) {
        if (typeof one.year !== 'string') expect(one.file).toContain(String(one.year.fixed));
        for (const [key, record] of await records(from, one)) {
          expect(faultOf(from, one, record), `${one.file} ${key}`).toBeNull();
          const code = from.place === undefined ? key : String(at(record, from.place));
          const place = places.resolve(definition.places, code);
          if (place.kind === 'country') known.add(place.iso3);
        }
      }
      expect(known.size).toBeGreaterThan(60);
    },
  );

  it('have an overlay for exactly the values they define', () => {
    for (const { id, source: settings, indicators } of samples) {
      expect(Object.keys(indicators).toSorted(), id).toEqual(
        Object.keys(source.parse(settings).values).toSorted(),
      );
    }
  });

  it('resolve every country name in vega-datasets', async () => {
    const definition = providers.get('vega-gapminder');
    const from = source.parse(definition?.source);
    const names = new Set<string>();
    for (const one of from.tables) {
      for (const [, record] of await records(from, one)) names.add(String(at(record, from.place)));
    }
    expect(names.size).toBe(62);
    const spine = new Set(countries.map(({ iso3 }) => iso3));
    for (const name of names) {
      const place = places.resolve(definition?.places ?? [], name);
      expect(place.kind === 'country' && spine.has(place.iso3), name).toBe(true);
    }
  });

  it('never map a part of a country to the country', () => {
    const schemes = providers.get('electricity-maps')?.places ?? [];
    for (const zone of [
      'Great Britain',
      'Mainland India',
      'Northern Ireland',
      'Main Islands',
      'Virgin Islands',
    ]) {
      expect(places.resolve(schemes, zone), zone).toEqual({ kind: 'unknown' });
    }
  });
});
