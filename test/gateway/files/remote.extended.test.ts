/** Whole files and the catalogue database, read over HTTP by software of others, at their own address. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installPackages, pythonPath } from '../../python-packages.ts';
import { BUILD_WITHIN_MS, buildStarter } from '../../shared-builds.ts';
import { Service, type TestKey } from '../service.ts';
import { CountingProxy, type Passed } from './counting-proxy.ts';

const PACKAGES = [
  ...['duckdb==1.5.5', 'duckdb-extension-httpfs==1.5.5'],
  ...['pandas==3.1.1', 'pyarrow==26.0.1', 'fsspec==2026.9.0', 'aiohttp==3.14.5'],
];
const READER = join(import.meta.dirname, 'read_remote.py');
const IDS = ['world-bank.SP.POP.TOTL', 'world-bank.SP.DYN.TFRT.IN'] as const;
const REQUESTS_MAX = 6;
/** Limits for what hangs: a busy machine takes minutes. */
const INSTALLED_WITHIN_MS = 900_000;
const READ_WITHIN_MS = 300_000;
const OUTPUT_BYTES = 50_000_000;

const run = promisify(execFile);

let proxy: CountingProxy;
let service: Service;
let owner: TestKey;
/** Credits that both files cost. */
let price: number;
/** `[iso3, year, value, other value]` of countries and years that both indicators have. */
let expected: Row[];

type Row = [iso3: string, year: number, value: number | null, other: number | null];

interface Observation {
  iso3: string;
  year: number;
  value: number | null;
}

beforeAll(async () => {
  await installPackages(PACKAGES);
  const { snapshots } = await buildStarter();
  proxy = await CountingProxy.start();
  service = await Service.start({ snapshots, settings: { PUBLIC_URL: proxy.url } });
  proxy.port = service.port;
  const reader = await service.account({ credits: 1_000_000 });
  const [first, second] = await Promise.all(
    IDS.map(async (id): Promise<Observation[]> => {
      const { json } = await service.get(`/v1/data?indicator=${id}`, { key: reader.key });
      return json.data;
    }),
  );
  price = (first?.length ?? 0) + (second?.length ?? 0);
  const others = new Map(second?.map((row) => [`${row.iso3} ${row.year}`, row.value]));
  expected = (first ?? []).flatMap(({ iso3, year, value }): Row[] => {
    const other = others.get(`${iso3} ${year}`);
    return other === undefined ? [] : [[iso3, year, value, other]];
  });
  owner = await service.account({ credits: 1_000_000 });
}, INSTALLED_WITHIN_MS + BUILD_WITHIN_MS);
afterAll(async () => {
  await service?.stop();
  proxy?.stop();
});

/** @returns what was read, and the requests by path. */
async function readWith(reader: string): Promise<{ rows: Row[]; requests: Map<string, Passed[]> }> {
  proxy.take();
  const { stdout } = await run(
    'env',
    [`PYTHONPATH=${pythonPath(PACKAGES)}`, 'python3', READER, reader, proxy.url, owner.key, ...IDS],
    { maxBuffer: OUTPUT_BYTES },
  );
  const passed = proxy.take();
  expect(passed.filter(({ status }) => status >= 400).map(({ path }) => path)).toEqual(
    reader === 'duckdb' ? ['/v1/almanac.duckdb.wal'] : [],
  );
  return { rows: JSON.parse(stdout), requests: Map.groupBy(passed, ({ path }) => path) };
}

const filesOf = (requests: Map<string, Passed[]>): Passed[][] =>
  IDS.map((id) => requests.get(`/v1/files/${id}.parquet`) ?? []);

const chargedOf = (requests: Map<string, Passed[]>): number =>
  [...requests.values()].flat().reduce((sum, { charged }) => sum + charged, 0);

/** One after the other: each reads within the lease that the first one began. */
describe('read remotely', () => {
  test(
    'DuckDB joins two indicators by the macros of the attached database, paid once each',
    async () => {
      const { rows, requests } = await readWith('duckdb');
      const { data } = (await service.get('/v1/groups')).json;
      const eu: string[] = data.find(({ id }: { id: string }) => id === 'eu').members;
      expect(rows).toEqual(expected.filter(([iso3]) => eu.includes(iso3)));
      for (const file of filesOf(requests)) {
        expect(file.some(({ range }) => range !== null)).toBe(true);
        // The query ran twice.
        expect(file.length).toBeLessThanOrEqual(2 * REQUESTS_MAX);
      }
      expect(chargedOf(requests)).toBe(price);
      expect(await service.balance(owner)).toBe(1_000_000 - price);
    },
    READ_WITHIN_MS,
  );

  test.each(['pandas', 'pyarrow'])(
    '%s reads both within the lease, free',
    async (reader) => {
      const { rows, requests } = await readWith(reader);
      expect(rows).toEqual(expected);
      for (const file of filesOf(requests)) expect(file.length).toBeLessThanOrEqual(REQUESTS_MAX);
      expect(chargedOf(requests)).toBe(0);
    },
    READ_WITHIN_MS,
  );
});
