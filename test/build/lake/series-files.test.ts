/** Which upstream files the lake names for each series, and what a snapshot's plan makes of it. */
import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Connector } from '../../../build/connectors/connector.ts';
import { planSnapshot } from '../../../build/editions/plan/plan-snapshot.ts';
import { acceptRun } from '../../../build/ingest/accept-run.ts';
import { ingestProvider } from '../../../build/ingest/ingest-provider.ts';
import { SOURCES } from '../../../build/lake/provider-lake.ts';
import { loadCurated } from '../../../data/curated/curated.ts';
import type { RunRecord, UpstreamFile } from '../../../data/schema/lake.ts';
import { query } from '../parquet-readers.ts';
import { type Cell, cells, ddfFiles, plainEntry, type Series, World } from '../world.ts';

const NIGHTS = ['20', '21', '22', '23'].map((day) => `2026-11-${day}T12:00:00+00:00`);
const [FIRST = '', SECOND = '', THIRD = ''] = NIGHTS;
const PAGE = 'ddf--datapoints--one--by--geo--time.csv';
/** Two values for one country and year: the series fails. */
const BROKEN: Cell[] = [
  ['deu', 2000, 1],
  ['deu', 2000, 2],
];

let world: World;
afterEach(() => world.remove());

const two = (first: Cell[], second: Cell[]): Record<string, Series> => ({
  one: { cells: first },
  two: { cells: second },
});

/** The one file of a series, as published in these series. */
function fileOf(slug: string, series: Record<string, Series>, fetched_at: string): UpstreamFile[] {
  const reference = `ddf--datapoints--${slug}--by--geo--time.csv`;
  const text = ddfFiles(series)[reference] ?? '';
  const sha256 = createHash('sha256').update(text).digest('hex');
  return [{ url: `https://atlas.example/${reference}`, sha256, bytes: text.length, fetched_at }];
}

/** The files of each planned indicator by slug. */
async function planned(): Promise<Record<string, readonly UpstreamFile[]>> {
  const { indicators } = await planSnapshot(
    world.settings.LAKE_DIR,
    await loadCurated(world.settings.CURATED_DIR),
    new Map(),
    2026,
  );
  return Object.fromEntries(indicators.map(({ slug, files }) => [slug, files]));
}

/** The list of a run, wherever it is kept. */
async function listOf({ run_id: id }: RunRecord): Promise<Record<string, unknown>[]> {
  const { directory } = await world.lake('atlas').keptRun(id);
  return query(`SELECT * FROM read_parquet('${join(directory, SOURCES)}') ORDER BY ALL`);
}

async function night(series: Record<string, Series>): Promise<RunRecord> {
  await world.publish('atlas', series);
  const record = await world.ingest('atlas');
  world.tomorrow();
  return record;
}

describe('a provider with a file per series', () => {
  it('each series names its own file and no file of names', async () => {
    world = await World.create();
    const series = two(cells(3), cells(4));
    await night(series);
    expect(await planned()).toEqual({ one: fileOf('one', series, FIRST), two: fileOf('two', series, FIRST) });
  });

  it('bytes that are read again keep their time, whether the run is unchanged or not', async () => {
    world = await World.create();
    const old = two(cells(3), cells(4));
    await night(old);
    const before = await planned();
    // The same bytes with a new time of modification.
    expect((await night(old)).status).toBe('succeeded');
    expect(await planned()).toEqual(before);
    const forced = await ingestProvider(await world.dependencies(), 'atlas', { force: true });
    expect(forced.status).toBe('unchanged');
    expect((await world.ingest('atlas')).status).toBe('unchanged');
    expect(await planned()).toEqual(before);
    const revised = two(cells(3), cells(5));
    expect((await night(revised)).status).toBe('succeeded');
    expect(await planned()).toEqual({ one: before.one, two: fileOf('two', revised, THIRD) });
  });

  it('a series that is carried over names the files of the run that read it, night after night', async () => {
    world = await World.create();
    const good = two(cells(3), cells(4));
    await night(good);
    for (const [index, more] of [5, 6].entries()) {
      const broken = two(BROKEN, cells(more));
      expect(await night(broken)).toMatchObject({ status: 'succeeded', carried_indicators: ['one'] });
      const now = NIGHTS[index + 1] ?? '';
      expect(await planned()).toEqual({ one: fileOf('one', good, FIRST), two: fileOf('two', broken, now) });
    }
    const mended = two(cells(6), cells(6));
    const record = await night(mended);
    expect(await planned()).toMatchObject({ one: fileOf('one', mended, NIGHTS[3] ?? '') });
    expect((await listOf(record)).filter(({ carried }) => carried)).toEqual([]);
  });

  it('files of carried series are no files that the run read', async () => {
    world = await World.create();
    const first = await night(two(cells(3), cells(4)));
    const second = await night(two(BROKEN, cells(5)));
    expect(second.sources?.files).toBe(first.sources?.files);
    const list = await listOf(second);
    expect(list).toHaveLength((second.sources?.files ?? 0) + 1);
    expect(
      list.filter(({ reference }) => reference === PAGE).map(({ series, carried }) => [series, carried]),
    ).toEqual(
      expect.arrayContaining([
        [['one'], true],
        [[], false],
      ]),
    );
  });

  it('a run that is accepted names the files that were read when it was held', async () => {
    world = await World.create();
    await night(two(cells(20), cells(20)));
    const before = await planned();
    const fewer = two(cells(3), cells(3));
    const held = await night(fewer);
    expect(held.status).toBe('suspicious');
    expect(await planned()).toEqual(before);
    await acceptRun(await world.dependencies(), 'atlas', held.run_id);
    expect(await planned()).toEqual({ one: fileOf('one', fewer, SECOND), two: fileOf('two', fewer, SECOND) });
  });

  it('the history keeps what fed each series', async () => {
    world = await World.create();
    const runs: RunRecord[] = [];
    for (const more of [3, 4, 5, 6, 7]) runs.push(await night(two(cells(more), cells(2))));
    const lists: unknown[] = [];
    for (const run of runs) {
      const fed = (await listOf(run)).map(({ reference, series }) => [reference, series]);
      lists.push(Object.fromEntries(fed));
    }
    expect(await world.lake('atlas').runIds()).toHaveLength(3);
    const every = {
      'datapackage.json': [],
      'ddf--concepts.csv': [],
      ...Object.fromEntries(
        ['one', 'two'].map((slug) => [`ddf--datapoints--${slug}--by--geo--time.csv`, [slug]]),
      ),
    };
    expect(lists).toEqual(runs.map(() => every));
  });
});

const oneFile = (series: number, named: readonly string[]): Connector<unknown> => ({
  protocol: 'one-file',
  settings: z.unknown(),
  async *read({ upstream }) {
    await upstream.text('all.json');
    for (let number = 0; number < series; number += 1) {
      const slug = `series-${number}`;
      yield { kind: 'indicator', entry: plainEntry(slug) };
      yield { kind: 'observations', slug, rows: [{ place: 'DEU', year: 2000, value: number }], files: named };
    }
  },
});

describe('a provider with one file for all series', () => {
  it('stores the file once', async () => {
    world = await World.create();
    await world.write('mirror/atlas/all.json', '{}');
    const record = await world.ingest('atlas', { findConnector: () => oneFile(5000, ['all.json']) });
    expect(record).toMatchObject({ status: 'succeeded', indicators: 5000 });
    const [file, ...others] = await listOf(record);
    expect(others).toEqual([]);
    expect(file?.series).toHaveLength(5000);
    const { size } = await stat(join(world.lake('atlas').directory, record.run_id, SOURCES));
    expect(size).toBeLessThan(50_000);
    const files = Object.values(await planned());
    expect(files).toHaveLength(5000);
    expect(new Set(files.map((list) => list[0])).size).toBe(1);
  });

  it.each([
    [
      'a file that it has not read',
      ['other.json'],
      'the connector has not read other.json, which it names for series-0',
    ],
    ['no file', [], 'the connector does not say which files series-0 comes from'],
  ])('a connector that names %s fails the run', async (_, named, reason) => {
    world = await World.create();
    await world.write('mirror/atlas/all.json', '{}');
    const record = await world.ingest('atlas', { findConnector: () => oneFile(1, named) });
    expect(record).toMatchObject({ status: 'failed', reason });
  });
});

it('files of a mirror in a layout of its own, which have one URL, are told apart by hash and named once', async () => {
  world = await World.create({ atlas: { mirror: { path: 'atlas', source: {} } } });
  const same: Record<string, Series> = { one: { cells: cells(3) } };
  await world.publish('atlas', same);
  const [text = ''] = Object.entries(ddfFiles(same)).flatMap(([name, content]) =>
    name === PAGE ? [content] : [],
  );
  for (const name of ['a.csv', 'b.csv']) await world.write(`mirror/atlas/${name}`, text);
  const copies: Connector<unknown> = {
    protocol: 'copies',
    settings: z.unknown(),
    async *read({ upstream }) {
      const names = (await readdir(join(world.directory, 'mirror/atlas'))).filter((name) =>
        name.endsWith('.csv'),
      );
      for (const name of names) await upstream.text(name);
      const rows = [{ place: 'DEU', year: 2000, value: 1 }];
      yield { kind: 'indicator', entry: plainEntry('one') };
      yield { kind: 'observations', slug: 'one', rows, files: names };
    },
  };
  await world.ingest('atlas', { findConnector: () => copies });
  const { one = [] } = await planned();
  // `a.csv`, `b.csv` and the datapoints are the same bytes.
  expect(one).toHaveLength(2);
  expect(new Set(one.map(({ url }) => url))).toEqual(new Set(['https://atlas.example/']));
  expect(one.map(({ sha256 }) => sha256)).toEqual(one.map(({ sha256 }) => sha256).toSorted());
});
