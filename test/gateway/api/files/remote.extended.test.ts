/** Whole files and the catalogue database, read over HTTP by software of others, at their own address. */

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { ObservationRow } from '../../../../data/schema/records.ts';
import { stopAfterTests } from '../../../after-tests.ts';
import { HTTP_READERS, installPackages, pythonPath } from '../../../python-packages.ts';
import { buildStarter } from '../../../shared-builds.ts';
import { useService } from '../../service.ts';
import { CountingProxy, type Passed } from './counting-proxy.ts';

const READER = join(import.meta.dirname, 'read_remote.py');
const IDS = ['world-bank.SP.POP.TOTL', 'world-bank.SP.DYN.TFRT.IN'] as const;
/** For one file. */
const REQUESTS_MAX = 6;
const CREDITS = 10_000_000;
const OUTPUT_BYTES = 50_000_000;

const run = promisify(execFile);

type Row = [iso3: string, year: number, value: number | null, other: number | null];

const DATABASE = '/v1/almanac.duckdb';
const FILES = IDS.map((id) => `/v1/files/${id}.parquet`);
const BUNDLE = '/v1/bundles/world-bank.parquet';

await installPackages(HTTP_READERS);
const { snapshots } = await buildStarter();
const proxy = await stopAfterTests(CountingProxy.start());
const service = await useService({ snapshots, settings: { PUBLIC_URL: proxy.url } });
proxy.port = service.port;
const reader = await service.account({ credits: 1_000_000 });
const [first, second] = await Promise.all(
  IDS.map(async (id): Promise<ObservationRow[]> => {
    const { json } = await service.get(`/v1/data?indicator=${id}`, { key: reader.key });
    return json.data;
  }),
);
const { json: told } = await service.get(`${BUNDLE}?dry_run=true`, { key: reader.key });
/** Credits that both files cost together, and the bundle. */
const prices: { files: number; bundle: number } = {
  files: (first?.length ?? 0) + (second?.length ?? 0),
  bundle: told.data.rows,
};
const others = new Map(second?.map((row) => [`${row.iso3} ${row.year}`, row.value]));
/** `[iso3, year, value, other value]` of countries and years that both indicators have. */
const expected: Row[] = (first ?? []).flatMap(({ iso3, year, value }): Row[] => {
  const other = others.get(`${iso3} ${year}`);
  return other === undefined ? [] : [[iso3, year, value, other]];
});
const owner = await service.account({ credits: CREDITS });

/** What passed for one path. */
interface Traffic {
  /** Of the file. */
  size: number;
  requests: number;
  parts: number;
  bytes: number;
  charged: number;
}

/** @returns what was read, and what passed for it. */
async function readWith(
  reader: string,
): Promise<{ rows: Row[]; traffic: (path: string) => Promise<Traffic> }> {
  proxy.take();
  const { stdout } = await run(
    'env',
    [`PYTHONPATH=${pythonPath(HTTP_READERS)}`, 'python3', READER, reader, proxy.url, owner.key, ...IDS],
    { maxBuffer: OUTPUT_BYTES },
  );
  const all = proxy.take();
  // DuckDB looks for the log of a database that is written to.
  expect(all.filter(({ status }) => status >= 400).map(({ path }) => path)).toEqual(
    reader.startsWith('duckdb') ? [`${DATABASE}.wal`] : [],
  );
  const traffic = async (path: string): Promise<Traffic> => {
    const passed = all.filter((one) => one.path === path);
    const sum = (of: (one: Passed) => number) => passed.reduce((total, one) => total + of(one), 0);
    return {
      size: await sizeOf(path),
      requests: passed.length,
      parts: passed.filter(({ range }) => range !== null).length,
      bytes: sum(({ bytes }) => bytes),
      charged: sum(({ charged }) => charged),
    };
  };
  return { rows: JSON.parse(stdout), traffic };
}

async function sizeOf(path: string): Promise<number> {
  const { headers } = await service.get(path, { method: 'HEAD', key: owner.key });
  return Number(headers['content-length']);
}

/** In few parts. @param share of the file, at most */
function expectParts({ size, requests, parts, bytes }: Traffic, share: number): void {
  expect(requests).toBeLessThanOrEqual(REQUESTS_MAX);
  expect(parts).toBeGreaterThan(0);
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThanOrEqual(share * size);
}

/** One after the other: each reads within the leases that those before it began. */
describe('read remotely', () => {
  test('DuckDB joins two indicators by a macro of the attached database, paid once each', async () => {
    const { data } = (await service.get('/v1/groups')).json;
    const eu: string[] = data.find(({ id }: { id: string }) => id === 'eu').members;
    for (const price of [prices.files, 0]) {
      const { rows, traffic } = await readWith('duckdb');
      expect(rows).toEqual(expected.filter(([iso3]) => eu.includes(iso3)));
      const read = await Promise.all(FILES.map(traffic));
      for (const file of read) expectParts(file, 1);
      expect(read.reduce((sum, { charged }) => sum + charged, 0)).toBe(price);
      const database = await traffic(DATABASE);
      expect(database.bytes).toBeLessThanOrEqual(2 * database.size);
    }
    expect(await service.balance(owner)).toBe(CREDITS - prices.files);
  });

  test('DuckDB reads an indicator of a bundle by the other macro, a small part of it', async () => {
    const { rows, traffic } = await readWith('duckdb, bundle');
    expect(rows).toEqual(expected);
    const bundle = await traffic(BUNDLE);
    expectParts(bundle, 0.25);
    expect(bundle.charged).toBe(prices.bundle);
  });

  test.each([
    ['pandas', 1],
    // Reads the end of a file, and then all of it.
    ['pyarrow', 2],
  ])('%s reads both within the lease, free', async (reader, share) => {
    const { rows, traffic } = await readWith(reader);
    expect(rows).toEqual(expected);
    for (const { requests, bytes, size, charged } of await Promise.all(FILES.map(traffic))) {
      expect(requests).toBeLessThanOrEqual(REQUESTS_MAX);
      expect(bytes).toBeLessThanOrEqual(share * size);
      expect(charged).toBe(0);
    }
  });
});
