/** Every figure of the starter data in the lake, and the files that it comes from, against the committed files. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { gunzipSync, inflateRawSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { planSnapshot } from '../../build/editions/plan/plan-snapshot.ts';
import { ProviderLake } from '../../build/lake/provider-lake.ts';
import { loadCurated } from '../../data/curated/curated.ts';
import { buildStarter } from '../shared-builds.ts';
import { readStarterManifest } from '../starter-manifest.ts';
import { query } from './parquet-readers.ts';

const ROOT = 'data/starter';
const manifest = readStarterManifest();
const built = await buildStarter();
const curated = await loadCurated('data');

const table = (bytes: Buffer, fromLine = 1): string[][] =>
  parse(bytes, { from_line: fromLine, bom: true, relax_column_count: true, skip_empty_lines: true });

/** The only entry of a zip archive, found by its local header. */
function unzipped(bytes: Buffer): Buffer {
  const start = 30 + bytes.readUInt16LE(26) + bytes.readUInt16LE(28);
  return inflateRawSync(bytes.subarray(start, start + bytes.readUInt32LE(18)));
}

const place = (provider: string, code: string): string => {
  const found = curated.places.resolve(curated.providers.get(provider)?.places ?? [], code);
  return found.kind === 'country' ? found.iso3 : found.kind;
};
const figure = (iso3: string, year: string, value: string): string =>
  `${iso3} ${year} ${value === '' ? null : Number(value)}`;

async function held(provider: string, slug: string): Promise<string[]> {
  const run = await new ProviderLake(built.lake, provider).current();
  const rows = await query(
    `SELECT iso3, year, value FROM read_parquet('${run?.observations}') WHERE indicator = '${slug}'`,
  );
  return rows.map(({ iso3, year, value }) => `${iso3} ${year} ${value === null ? null : Number(value)}`);
}

async function expectSeries(provider: string, slug: string, figures: readonly string[]): Promise<void> {
  expect((await held(provider, slug)).toSorted(), slug).toEqual(figures.toSorted());
  expect(figures.length, slug).toBeGreaterThan(200);
}

const slugsOf = (provider: string): string[] =>
  manifest.filter((one) => one.provider === provider).map(({ slug }) => slug);

describe('every figure of the starter data', () => {
  it.each([
    ['gapminder', 'countries-etc-datapoints', 'geo--time'],
    ['undp', '', 'country--year'],
  ])('of %s', async (provider, folder, key) => {
    for (const slug of slugsOf(provider)) {
      const file = join(ROOT, provider, folder, `ddf--datapoints--${slug}--by--${key}.csv.gz`);
      const [, ...rows] = table(gunzipSync(readFileSync(file)));
      const figures = rows.map(([code = '', year = '', value = '']) =>
        figure(place(provider, code), year, value),
      );
      await expectSeries(provider, slug, figures);
    }
  });

  it('of the World Bank', async () => {
    for (const slug of slugsOf('world-bank')) {
      const bytes = readFileSync(join(ROOT, 'world-bank', `API_${slug}_DS2_en_csv_v2.zip`));
      const [header = [], ...rows] = table(unzipped(bytes), 5);
      const figures = rows.flatMap((cells) =>
        header.flatMap((year, at) =>
          /^\d{4}$/.test(year) && cells[at] !== '' ? [figure(cells[1] ?? '', year, cells[at] ?? '')] : [],
        ),
      );
      await expectSeries('world-bank', slug, figures);
    }
  });

  it("of Our World in Data's charts, projections in their own columns", async () => {
    const charts = join(ROOT, 'owid');
    for (const name of (await readdir(charts)).filter((one) => one.endsWith('.csv.gz'))) {
      const [header = [], ...rows] = table(gunzipSync(readFileSync(join(charts, name))));
      const chart = name.replace('.csv.gz', '');
      for (const [at, title] of header.entries()) {
        if (['Entity', 'Code', 'Year'].includes(title) || title.endsWith('(Projected)')) continue;
        const later = header.indexOf(`${title} (Projected)`);
        const figures = rows.flatMap((cells) => {
          const value = cells[at] || (later < 0 ? '' : cells[later]);
          return value ? [figure(place('owid', cells[1] || (cells[0] ?? '')), cells[2] ?? '', value)] : [];
        });
        const word =
          { Total: 'total', 'Ages 65+': 'ages-65', 'Ages 25-64': 'ages-25-64' }[title] ?? 'under-15s';
        await expectSeries('owid', chart.startsWith('population-') ? `population-${word}` : chart, figures);
      }
    }
  });
});

it('every indicator names the starter files with its figures', async () => {
  const byHash = new Map<string, string>();
  for (const entry of await readdir(ROOT, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    byHash.set(createHash('sha256').update(readFileSync(path)).digest('hex'), relative(ROOT, path));
  }
  const { indicators } = await planSnapshot(built.lake, curated, new Map(), 2026);
  expect(indicators).toHaveLength(manifest.length);
  for (const { id, slug, providerId, files } of indicators) {
    const paths = files.map(({ sha256 }) => byHash.get(sha256) ?? sha256);
    const [folder = ''] = paths.map(dirname);
    const expected: Record<string, string[]> = {
      gapminder: [`gapminder/countries-etc-datapoints/ddf--datapoints--${slug}--by--geo--time.csv.gz`],
      undp: [`undp/ddf--datapoints--${slug}--by--country--year.csv.gz`],
      'world-bank': [`world-bank/API_${slug}_DS2_en_csv_v2.zip`],
      owid: [`owid/${slug.replace(/^population-.*/, 'population-by-age-group-with-projections')}.csv.gz`],
      'owid-datasets': [`${folder}/${basename(folder)}.csv.gz`, `${folder}/datapackage.json`],
    };
    expect(paths.toSorted(), id).toEqual(expected[providerId]);
  }
});
