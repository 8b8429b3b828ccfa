/** API connectors on the real HTTP client against a faulty server: what is retried, and what fails one series only. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { whoGho } from '../../../build/connectors/who-gho.ts';
import { worldBankApi } from '../../../build/connectors/world-bank-api.ts';
import { worldBankCsv } from '../../../build/connectors/world-bank-csv.ts';
import { openUpstream } from '../../../build/upstream/open-upstream.ts';
import type { TrackedUpstream } from '../../../build/upstream/upstream.ts';
import { type FakeUpstream, type Fault, startFakeUpstream } from '../fakes/server.ts';
import { ghoRoute } from '../fakes/who-gho.ts';
import { type FakeIndicator, worldBankRoute } from '../fakes/world-bank.ts';
import { zipOf } from '../fakes/zip.ts';
import { readAll } from './read-connector.ts';

const years = ['2019', '2020', '2021', '2022'];
const indicator = (code: string): FakeIndicator => ({
  code,
  name: code,
  note: '',
  organization: '',
  topics: [],
  licence: 'CC BY-4.0',
  updated: '2026-07-01',
  figures: years.map((year, index) => ({ iso3: 'NOR', id: 'NO', year, value: index + 0.5 })),
});
const LIFE = years.map((YEAR) => ({
  GHO: 'LIFE',
  YEAR,
  COUNTRY: 'NOR',
  SEX: 'BTSX',
  Numeric: '80',
  Low: '',
  High: '',
}));
const MORT = LIFE.map((row) => ({ ...row, GHO: 'MORT' }));
const csv = `Country Name,Country Code,Indicator Name,Indicator Code,2020\n${'Norway,NOR,Name,A.A,1\n'.repeat(200)}`;
const ZIP = zipOf([{ name: 'API_A.A_DS2_en_csv_v2_1.csv', body: csv }]);

let server: FakeUpstream;
let directory: string;
let upstream: TrackedUpstream;
beforeAll(async () => {
  server = await startFakeUpstream([
    worldBankRoute((code) => (/^[AB]\.A$/.test(code) ? indicator(code) : null), [], {}, '/world-bank/'),
    ghoRoute((code) => ({ LIFE, MORT })[code] ?? null, new Map(), 2, '/who-gho/'),
    (url) => (url.pathname.startsWith('/zip/') ? { body: ZIP } : null),
  ]);
});
afterAll(() => server.stop());

function open(path: string): TrackedUpstream {
  const base = { kind: 'url', url: server.url + path } as const;
  const retry = { attempts: 3, sleep: async () => {} };
  return openUpstream({ connector: 'x', source: {}, base }, directory, new AbortController().signal, {
    retry,
  });
}
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'almanac-together-'));
});
afterEach(async () => {
  await upstream.close();
  await rm(directory, { recursive: true, force: true });
});

const readBank = (): ReturnType<typeof readAll> => {
  upstream = open('world-bank/');
  const throttle = { attempts: 3, wait_ms: 0 };
  return readAll(worldBankApi, { indicators: ['A.A', 'B.A'], per_page: 2, throttle }, upstream);
};
const readWho = (): ReturnType<typeof readAll> => {
  upstream = open('who-gho/');
  return readAll(whoGho, { indicators: ['LIFE', 'MORT'], pin: { SEX: 'BTSX' } }, upstream);
};

const passing: [string, Fault['do']][] = [
  ['HTTP 500 on a later page', { status: 500, body: 'oops' }],
  ['HTTP 429 with Retry-After', { status: 429, headers: { 'retry-after': '1' }, body: '' }],
  ['a connection that closes early', 'cut'],
];
const lasting: [string, Fault['do'], string][] = [
  ['a redirect loop', 'loop', 'redirects'],
  [
    'a redirect into a private network',
    { status: 302, headers: { location: 'http://10.0.0.1/' }, body: '' },
    'private',
  ],
  ['HTML instead of JSON', { headers: { 'content-type': 'text/html' }, body: '<html></html>' }, 'HTML'],
  ['a lasting HTTP 500', { status: 500, body: '' }, 'HTTP 500'],
  ['a connection that always closes early', 'cut', 'tried 3 times'],
];

it.each(passing)('recovers from %s', async (_, fault) => {
  server.fail({ on: /indicator\/A\.A.*page=2/, times: 1, do: fault });
  server.fail({ on: /LIFE.*skip=2/, times: 1, do: fault });
  const bank = await readBank();
  expect([...bank.failed]).toEqual([]);
  expect(bank.series.get('A.A')?.rows.map((row) => row.value)).toEqual([0.5, 1.5, 2.5, 3.5]);
  await upstream.close();
  const who = await readWho();
  expect([...who.failed]).toEqual([]);
  expect(who.series.get('LIFE')?.rows).toHaveLength(4);
});

it.each(lasting)('%s fails its series and no other', async (_, fault, reason) => {
  const removeFaults = [
    server.fail({ on: /indicator\/A\.A.*page=2/, do: fault }),
    server.fail({ on: /LIFE.*skip=2/, do: fault }),
  ];
  const bank = await readBank();
  await upstream.close();
  const who = await readWho();
  for (const remove of removeFaults) remove();
  expect(bank.failed.get('A.A')).toContain(reason);
  expect(bank.series.get('B.A')?.rows).toHaveLength(4);
  expect(who.failed.get('LIFE')).toContain(reason);
  expect([...who.series.keys()]).toEqual(['MORT']);
});

it('the connector retries throttling with HTTP 400', async () => {
  server.fail({ on: /indicator\/B\.A.*page=1/, times: 2, do: { status: 400, body: 'Request Error' } });
  const { failed, series } = await readBank();
  expect([...failed]).toEqual([]);
  expect(series.get('B.A')?.rows).toHaveLength(4);
});

it.each<[string, Fault['do'], string]>([
  ['truncated with an error', 'cut', 'tried 3 times'],
  ['truncated silently', 'shorten', 'End of central directory'],
  ['replaced by HTML', { headers: { 'content-type': 'text/html' }, body: '<html></html>' }, 'HTML'],
])('a zip %s fails its series only', async (_, fault, reason) => {
  upstream = open('zip/');
  const removeFault = server.fail({ on: /bad/, do: fault });
  const { failed, series } = await readAll(worldBankCsv, { files: ['good.zip', 'bad.zip'] }, upstream);
  removeFault();
  expect([...series.keys()]).toEqual(['A.A']);
  expect([...failed.values()].join()).toContain(reason);
});

it('detects an unchanged upstream by its validators', async () => {
  await readBank();
  const files = upstream.fetched();
  await upstream.close();
  upstream = open('world-bank/');
  expect(await upstream.unchanged(files)).toBe(true);
});
