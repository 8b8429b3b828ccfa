import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { NothingToPublish } from '../../build/snapshot/build-snapshot.ts';
import { filesBelow, verifyFiles } from '../../build/snapshot/verify.ts';
import { verifyPublished } from '../../build/snapshot/verify-published.ts';
import { loadCurated } from '../../data/curated.ts';
import {
  countryDetail,
  countryRecord,
  coverageRecord,
  freshnessRecord,
  indicatorDetail,
  indicatorRecord,
  topicRecord,
} from '../../data/schema/records.ts';
import { catalogueIndex, MANIFEST, observationsFile, ROUTE_FILES } from '../../data/schema/snapshot.ts';
import { readObservations, readWithHyparquet, readWithParquetjs } from './parquet.ts';
import { type Cell, SERVED, type Series, World } from './world.ts';

let world: World;
beforeEach(async () => {
  world = await World.create();
});
afterEach(() => world.remove());

const one: Series = {
  name: 'One',
  unit: 'kg',
  cells: [
    ['FRA', 2000, '5'],
    ['DEU', 2000, '5'],
    ['USA', 2000, '7.25'],
    ['AFG', 2000, ''],
    ['kos', 2000, '1'],
    ['FRA', 2001, '9'],
    ['DEU', 2001, '1'],
    ['USA', 2001, '2'],
    ['BRA', 2001, ''],
    ['USA', 2003, '2'],
  ],
};

async function publish(series: Record<string, Series>, id = 'atlas'): Promise<void> {
  await world.publish(id, series);
  const record = await world.ingest(id);
  expect(record).toMatchObject({ status: 'succeeded' });
}

const observations = async (id: string) => {
  const { directory } = await world.served();
  return readObservations(join(directory, observationsFile(id)));
};

describe('figures', () => {
  it('are ranked 1, 2, 2, 4 among countries with a value, the highest first, with the change of rank since the year before', async () => {
    await publish({ one });
    await world.build();
    const rows = await observations('atlas.one');
    expect(
      rows.map(({ iso3, year, value, rank, rank_delta_1y }) => [iso3, year, value, rank, rank_delta_1y]),
    ).toEqual([
      ['AFG', 2000, null, null, null],
      ['BRA', 2001, null, null, null],
      ['DEU', 2000, 5, 2, null],
      ['DEU', 2001, 1, 3, -1],
      ['FRA', 2000, 5, 2, null],
      ['FRA', 2001, 9, 1, 1],
      ['USA', 2000, 7.25, 1, null],
      ['USA', 2001, 2, 2, -1],
      ['USA', 2003, 2, 1, null],
      ['XKX', 2000, 1, 4, null],
    ]);
  });

  it('are ranked upwards where lower is better, and not at all where a rank means nothing', async () => {
    await world.define('atlas', {
      indicators: { low: { higher_is_better: false }, none: { no_rank: true } },
    });
    const cells: Cell[] = [
      ['FRA', 2000, 1],
      ['DEU', 2000, 2],
    ];
    await publish({ low: { cells }, none: { cells } });
    await world.build();
    expect((await observations('atlas.low')).map(({ iso3, rank }) => [iso3, rank])).toEqual([
      ['DEU', 2],
      ['FRA', 1],
    ]);
    expect((await observations('atlas.none')).map(({ rank }) => rank)).toEqual([null, null]);
  });

  it('open in parquetjs-lite and hyparquet with equal values', async () => {
    await publish({ one });
    await world.build();
    const { directory } = await world.served();
    const file = join(directory, observationsFile('atlas.one'));
    const rows = await readObservations(file);
    expect(rows).toHaveLength(10);
    expect(await readWithHyparquet(file)).toEqual(rows);
    expect(await readWithParquetjs(file)).toEqual(rows);
  });

  it('of countries that are not served are left out and not ranked against', async () => {
    await publish({
      one: {
        cells: [
          ['ATA', 2000, 9],
          ['FRA', 2000, 1],
        ],
      },
    });
    await world.build();
    expect((await observations('atlas.one')).map(({ iso3, rank }) => [iso3, rank])).toEqual([['FRA', 1]]);
  });

  it('are projected from the year that is curated, where rows do not say', async () => {
    await world.define('atlas', { indicators: { one: { projected_from: 2001 } } });
    await publish({ one });
    await world.build();
    const { data } = await world.body('routes/indicators/atlas.one.json');
    expect(data).toMatchObject({
      coverage: { n_countries: 4, yr_min: 2000, yr_max: 2003, latest_year: 2000 },
    });
    expect((await observations('atlas.one')).filter(({ projected }) => projected)).toHaveLength(5);
    const france = countryDetail.parse((await world.body('routes/countries/FRA.json')).data);
    expect(france.topics.economy).toMatchObject([{ year: 2000, value: 5, rank: 2 }]);
  });
});

describe('bodies', () => {
  const meta = { generated_at: '2026-11-20T12:00:00+00:00' };

  it('are whole answers of the free routes in the public shapes', async () => {
    await publish({ one, empty: { cells: [['world', 2000, 1]] } });
    await world.build();
    const check = async (path: string, schema: z.ZodType, more: Record<string, unknown>) => {
      const body = await world.body(path);
      expect(Object.keys(body)).toEqual(['data', 'meta']);
      expect(body.meta).toEqual({ ...meta, ...more });
      return schema.parse(body.data);
    };
    const credit = { licence: 'CC BY 4.0', attribution: 'Figures of the atlas' };
    await check(ROUTE_FILES.countries, z.array(z.strictObject(countryRecord.shape)), {
      count: SERVED.length,
    });
    await check(ROUTE_FILES.coverage, z.array(z.strictObject(coverageRecord.shape)), {
      count: SERVED.length,
    });
    await check(ROUTE_FILES.topics, z.array(z.strictObject(topicRecord.shape)).length(13), { count: 13 });
    await check(ROUTE_FILES.freshness, z.array(z.strictObject(freshnessRecord.shape)), { count: 1 });
    await check(ROUTE_FILES.indicators, z.array(z.strictObject(indicatorRecord.shape)), {
      count: 2,
      total: 2,
    });
    await check('routes/indicators/atlas.one.json', z.strictObject(indicatorDetail.shape), credit);
    await check('routes/countries/USA.json', z.strictObject(countryDetail.shape), {
      count: 1,
      topic_counts: { economy: 1 },
    });
  });

  it('stand beside equal bodies in br, zstd and gzip', async () => {
    await publish({ one });
    await world.build();
    const { directory } = await world.served();
    for (const path of [
      ROUTE_FILES.indicators,
      'routes/indicators/atlas.one.json',
      'routes/countries/FRA.json',
    ]) {
      const read = (suffix: string) => readFile(join(directory, path + suffix));
      const plain = await read('');
      expect(brotliDecompressSync(await read('.br')).equals(plain)).toBe(true);
      expect(zstdDecompressSync(await read('.zst')).equals(plain)).toBe(true);
      expect(gunzipSync(await read('.gz')).equals(plain)).toBe(true);
    }
  });

  it('say the coverage of an indicator without values, and none of one without rows', async () => {
    await publish({ one, gaps: { cells: [['FRA', 2000, '']] }, empty: { cells: [['world', 2000, 1]] } });
    await world.build();
    const { data } = await world.body(ROUTE_FILES.indicators);
    const coverage = new Map(
      (data as { id: string; coverage: unknown }[]).map((record) => [record.id, record.coverage]),
    );
    expect(coverage.get('atlas.gaps')).toEqual({
      n_countries: 0,
      yr_min: null,
      yr_max: null,
      latest_year: null,
    });
    expect(coverage.get('atlas.empty')).toBeNull();
    expect(await observations('atlas.empty')).toEqual([]);
    const france = countryDetail.parse((await world.body('routes/countries/FRA.json')).data);
    expect(france.topics.economy).toMatchObject([
      { indicator: 'atlas.gaps', year: 2000, value: null, rank: null },
      { indicator: 'atlas.one', year: 2001, value: 9, rank: 1, rank_delta_1y: 1 },
    ]);
  });

  it('count rows of a country, and years of its values', async () => {
    await publish({ one });
    await world.build();
    const { data } = await world.body(ROUTE_FILES.coverage);
    const rows = new Map((data as { iso3: string }[]).map((record) => [record.iso3, record]));
    expect(rows.get('USA')).toMatchObject({ n_observations: 3, n_indicators: 1, yr_min: 2000, yr_max: 2003 });
    expect(rows.get('BRA')).toMatchObject({ n_observations: 1, n_indicators: 0, yr_min: null, yr_max: null });
    expect(rows.get('AND')).toMatchObject({ n_observations: 0, n_indicators: 0, yr_min: null, yr_max: null });
    expect([...rows.keys()]).toEqual([...rows.keys()].toSorted());
  });

  it('order names as people do, and the items of a country by topic, curated place and name', async () => {
    await world.define('atlas', {
      indicators: { b: { order: 2 }, a: { order: 3 }, c: { order: 2 }, h: { topic: 'population' } },
    });
    const cells: Cell[] = [['FRA', 2000, 1]];
    await publish({
      a: { name: 'Zebra', cells },
      b: { name: 'Omega', cells },
      c: { name: 'Ärger', cells },
      d: { name: 'Alpha', cells },
      h: { name: 'Heads', cells },
    });
    await world.build();
    const france = countryDetail.parse((await world.body('routes/countries/FRA.json')).data);
    expect(Object.keys(france.topics)).toEqual(['population', 'economy']);
    expect(france.topics.economy?.map(({ name }) => name)).toEqual(['Ärger', 'Omega', 'Zebra', 'Alpha']);
    const countries = (await world.body(ROUTE_FILES.countries)).data as { name: string }[];
    const names = countries.map(({ name }) => name);
    expect(names.indexOf('Åland Islands')).toBeLessThan(names.indexOf('Albania'));
  });

  it('tell freshness from the last good run, the unchanged one included', async () => {
    await publish({ one });
    world.tomorrow();
    expect(await world.ingest('atlas')).toMatchObject({ status: 'unchanged' });
    await world.build();
    expect((await world.body(ROUTE_FILES.freshness)).data).toMatchObject([
      {
        provider_id: 'atlas',
        last_ok_finished_at: '2026-11-21T12:00:00+00:00',
        last_ok_rows: 10,
        latest_data_year: 2003,
      },
    ]);
  });
});

describe('the gate', () => {
  /** Which of the words stand anywhere in the snapshot: in a file's name or in any byte, decompressed or not. */
  async function found(...words: string[]): Promise<string[]> {
    const { directory } = await world.served();
    const files = await filesBelow(directory);
    const contents = await Promise.all(
      files.map(async (path) => {
        const bytes = await readFile(join(directory, path));
        if (path.endsWith('.br')) return brotliDecompressSync(bytes);
        if (path.endsWith('.zst')) return zstdDecompressSync(bytes);
        return path.endsWith('.gz') ? gunzipSync(bytes) : bytes;
      }),
    );
    const text = [...files, ...contents.map((bytes) => bytes.toString('latin1'))].join('\n');
    return words.filter((word) => text.includes(word));
  }
  const secret: Series = { name: 'Whispered', cells: [['FRA', 2000, 123456.789]] };

  it('keeps what may not be redistributed out of every byte, and lets it in when the flag is turned', async () => {
    await world.define('vault', { redistributable: false });
    await publish({ one });
    await publish({ secret }, 'vault');
    await world.build();
    expect(await found('vault', 'Whispered', 'secret')).toEqual([]);
    await world.define('vault', { redistributable: true });
    await world.build();
    expect(await found('vault.secret', 'Whispered')).toHaveLength(2);
    await world.define('vault', { redistributable: false });
    await world.build();
    expect(await found('vault', 'Whispered', 'secret')).toEqual([]);
  });

  it.each([
    ['redistributable', { redistributable: false }],
    ['enabled', { enabled: false }],
  ])('obeys %s of a single indicator', async (_, setting) => {
    await publish({ one, secret });
    await world.build();
    expect(await found('Whispered')).toHaveLength(1);
    await world.define('atlas', { indicators: { secret: setting } });
    await world.build();
    expect(await found('Whispered', 'secret')).toEqual([]);
  });

  it('is only ever narrowed by an indicator: display stays display, withheld stays withheld', async () => {
    const wide = { indicators: { one: { access_tier: 'open', redistributable: true } } };
    await world.define('atlas', { ...wide, access_tier: 'display' });
    await world.define('vault', { ...wide, redistributable: false });
    await publish({ one });
    await publish({ one }, 'vault');
    await world.build();
    expect((await world.body(ROUTE_FILES.indicators)).data).toMatchObject([
      { id: 'atlas.one', access_tier: 'display' },
    ]);
  });

  it('obeys an operator: off, renamed, described', async () => {
    await publish({ one, secret });
    await world.build({
      overrides: new Map([
        ['atlas.secret', { enabled: false }],
        ['atlas.one', { name: 'First', description: 'Said.', unit: '' }],
      ]),
    });
    expect(await found('Whispered')).toEqual([]);
    expect((await world.body('routes/indicators/atlas.one.json')).data).toMatchObject({
      name: 'First',
      description: 'Said.',
      unit: null,
    });
  });

  it('refuses a build that would name a withheld indicator', async () => {
    await publish({ one: { ...one, name: 'See atlas.secret' }, secret });
    await world.define('atlas', { indicators: { secret: { redistributable: false } } });
    await expect(world.build()).rejects.toThrow('names atlas.secret, which must not be published');
    expect(await world.shelf.currentId()).toBeNull();
  });

  it('lets samples in only while no other provider has anything to give', async () => {
    await world.define('sample', { sample: true });
    await publish({ one }, 'sample');
    await world.build();
    expect((await world.body(ROUTE_FILES.indicators)).meta).toMatchObject({ total: 1 });
    await publish({ one });
    await world.build();
    expect((await world.body(ROUTE_FILES.indicators)).data).toMatchObject([{ id: 'atlas.one' }]);
    expect((await world.body(ROUTE_FILES.freshness)).data).toMatchObject([{ provider_id: 'atlas' }]);
  });

  it('publishes nothing when there is nothing', async () => {
    await expect(world.build()).rejects.toThrow(NothingToPublish);
  });
});

describe('two builds', () => {
  it('of the same input at the same time give equal bytes', async () => {
    await publish({ one, two: { cells: one.cells } });
    const first = await world.build();
    const { directory, manifest } = await world.served();
    const settings = { ...world.settings, SNAPSHOT_DIR: join(world.directory, 'elsewhere') };
    const second = await world.build({ settings });
    expect(second).toMatchObject({ snapshot: first.snapshot, reused: 0 });
    const elsewhere = join(settings.SNAPSHOT_DIR, first.snapshot);
    expect(await readFile(join(elsewhere, MANIFEST))).toEqual(await readFile(join(directory, MANIFEST)));
    await verifyFiles(elsewhere, manifest.files);
  });

  it('share the files of indicators that did not change', async () => {
    await publish({ one, two: { cells: one.cells } });
    await world.build();
    const before = await world.served();
    world.tomorrow();
    await publish({ one, two: { cells: [...one.cells, ['CHN', 2003, 1]] } });
    const summary = await world.build();
    const after = await world.served();
    expect(summary).toMatchObject({ reused: 1, counts: { observations: 21 } });
    const inode = async (directory: string, id: string) =>
      (await stat(join(directory, observationsFile(id)))).ino;
    expect(await inode(after.directory, 'atlas.one')).toBe(await inode(before.directory, 'atlas.one'));
    expect(await inode(after.directory, 'atlas.two')).not.toBe(await inode(before.directory, 'atlas.two'));
  });

  it('do not share a file that was damaged since', async () => {
    await publish({ one });
    await world.build();
    const before = await world.served();
    await writeFile(join(before.directory, observationsFile('atlas.one')), 'rubbish');
    world.tomorrow();
    expect(await world.build()).toMatchObject({ reused: 0 });
    expect(await observations('atlas.one')).toHaveLength(10);
  });

  it('compute ranks anew when what is better has changed', async () => {
    await publish({ one });
    await world.build();
    await world.define('atlas', { indicators: { one: { higher_is_better: false } } });
    world.tomorrow();
    expect(await world.build()).toMatchObject({ reused: 0 });
    expect((await observations('atlas.one')).find(({ iso3 }) => iso3 === 'XKX')).toMatchObject({ rank: 1 });
  });
});

describe('verification', () => {
  beforeEach(async () => {
    await publish({ one });
    await world.build();
  });
  const verify = async () => verifyPublished(world.settings, await loadCurated(world.settings.CURATED_DIR));

  it('finds a sound snapshot sound', async () => {
    const { directory, manifest } = await world.served();
    expect(await verify()).toMatchObject({
      traced: 1,
      outdated: 0,
      files: Object.keys(manifest.files).length,
    });
    expect(
      catalogueIndex.parse(JSON.parse(await readFile(join(directory, 'catalogue.json'), 'utf8'))),
    ).toBeDefined();
  });

  it.each([
    ['a changed file', 'routes/topics.json', '{}', /another content/],
    ['a file that nobody wrote', 'routes/more.json', '{}', /not in the manifest/],
  ])('finds %s', async (_, path, content, fault) => {
    const { directory } = await world.served();
    await writeFile(join(directory, path), content);
    await expect(verify()).rejects.toThrow(fault);
  });

  it('finds a figure that is not in the lake', async () => {
    const { run } = await runOf('atlas');
    await world.copy(`lake/atlas/${run}/observations.parquet`, 'kept.parquet');
    const { query } = await import('./parquet.ts');
    await query(
      `COPY (SELECT * REPLACE (value + 1 AS value) FROM read_parquet('${world.directory}/kept.parquet')) TO '${world.settings.LAKE_DIR}/atlas/${run}/observations.parquet'`,
    );
    await expect(verify()).rejects.toThrow(/atlas\.one: \d+ rows are wrong \(n_untraceable\)/);
  });

  async function runOf(id: string): Promise<{ run: string }> {
    const current = await world.lake(id).current();
    return { run: current?.record.run_id ?? '' };
  }
});
