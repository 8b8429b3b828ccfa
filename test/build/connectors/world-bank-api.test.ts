/** The World Bank's API: paging, refusals, throttling, licences, faulty responses. */
import { expect, it } from 'vitest';
import { worldBankApi } from '../../../build/connectors/world-bank-api.ts';
import { stopAfterTests } from '../../after-tests.ts';
import { httpUpstream } from '../fakes/http-upstream.ts';
import { type FakeUpstream, json, startFakeUpstream } from '../fakes/server.ts';
import { type FakeIndicator, worldBankRoute } from '../fakes/world-bank.ts';
import { readAll } from './read-connector.ts';

const figures = ['NOR', 'SWE', ''].flatMap((iso3, place) =>
  ['2022', '2023', '2024'].map((year, index) => ({
    iso3,
    id: ['NO', 'SE', 'XD'][place] ?? '',
    year,
    value: index === 2 ? null : place * 10 + index + 0.1,
    status: year === '2023' ? 'F' : '',
  })),
);
const indicator = (code: string, more: Partial<FakeIndicator> = {}): FakeIndicator => ({
  code,
  name: `${code} (% of GDP)`,
  note: 'What it is.',
  organization: 'UN',
  topics: ['Health'],
  licence: 'CC BY-4.0',
  updated: '2026-07-01',
  figures,
  ...more,
});
const INDICATORS = new Map(
  [
    indicator('A.GOOD'),
    indicator('B.GOOD', { licence: 'IEA terms', aggregation: 'Weighted average', updated: '2026-09-01' }),
    indicator('C.NONE', { figures: [], licence: null }),
  ].map((one) => [one.code, one]),
);
const find = (code: string): FakeIndicator | null => INDICATORS.get(code) ?? null;

const modern = await stopAfterTests(startFakeUpstream([worldBankRoute(find, [...INDICATORS.keys()])]));
const old = await stopAfterTests(
  startFakeUpstream([worldBankRoute(find, [...INDICATORS.keys()], { mark: true, strings: true })]),
);

const settings = { indicators: ['A.GOOD', 'B.GOOD'], per_page: 4, throttle: { attempts: 3, wait_ms: 0 } };
const read = (upstream: FakeUpstream, more: object = {}): ReturnType<typeof readAll> =>
  readAll(worldBankApi, { ...settings, ...more }, httpUpstream(upstream.url));

const EXPECTED = figures.map(({ iso3, id, year, value, status }) => ({
  place: iso3 || id,
  year,
  value,
  ...(value === null && { blank: true }),
  projected: status === 'F',
  status: status || null,
}));

it('reads all pages in order: values, nulls, statuses, and the edition', async () => {
  const { series, failed, vintage, plan } = await read(modern);
  expect(failed.size).toBe(0);
  expect(plan).toBe(2);
  expect(series.get('A.GOOD')?.rows).toEqual(EXPECTED);
  expect(series.get('A.GOOD')?.entry).toEqual({
    slug: 'A.GOOD',
    name: 'A.GOOD (% of GDP)',
    description: 'What it is.',
    unit: '% of GDP',
    source: 'UN',
    source_url: 'https://data.worldbank.org/indicator/A.GOOD',
    tags: ['Health'],
    licence: 'CC BY-4.0',
  });
  expect(series.get('B.GOOD')?.entry).toMatchObject({
    licence: 'IEA terms',
    aggregation: 'Weighted average',
  });
  expect(vintage).toBe('2026-09-01');
});

it('reads responses with a byte order mark and paging numbers as strings', async () => {
  expect((await read(old)).series.get('A.GOOD')?.rows).toEqual(EXPECTED);
});

it('reads the whole database without a list of indicators; "no data" is an empty series', async () => {
  const { series, failed } = await read(modern, { indicators: undefined, per_page: 2 });
  expect([...series.keys()]).toEqual(['A.GOOD', 'B.GOOD', 'C.NONE']);
  expect(failed.size).toBe(0);
  expect(series.get('C.NONE')?.rows).toEqual([]);
  expect(series.get('C.NONE')?.entry.licence).toBeNull();
});

it('requests the years of the definition', async () => {
  const { series } = await read(modern, { date: '2024:2030' });
  expect(series.get('A.GOOD')?.rows.map((row) => row.year)).toEqual(['2024', '2024', '2024']);
});

it('fails a series on a refusal with HTTP 200, and continues', async () => {
  const { series, failed } = await read(modern, { indicators: ['NO.SUCH', 'A.GOOD'] });
  expect(failed.get('NO.SUCH')).toContain('Invalid value: The provided parameter value is not valid');
  expect([...series.keys()]).toEqual(['A.GOOD']);
});

it('retries throttling with HTTP 400 a bounded number of times', async () => {
  const throttled = { status: 400, body: '<fault>Request Error</fault>' };
  modern.fail({ on: /all\/indicator\/A\.GOOD.*page=2/, times: 2, do: throttled });
  const { series, failed } = await read(modern);
  expect(failed.size).toBe(0);
  expect(series.get('A.GOOD')?.rows).toEqual(EXPECTED);
  const removeFault = modern.fail({ on: /all\/indicator\/A\.GOOD/, do: throttled });
  expect((await read(modern)).failed.get('A.GOOD')).toContain('HTTP 400');
  removeFault();
});

const pageOf = (page: number, pages: number, total: number, rows: unknown): object =>
  json([{ page, pages, per_page: 4, total, lastupdated: '2026-07-01' }, rows]);
const row = {
  indicator: { id: 'A.GOOD' },
  country: { id: 'NO' },
  countryiso3code: 'NOR',
  date: '2020',
  value: 1,
};

it.each([
  ['a repeated page 1', pageOf(1, 3, 9, [row]), 'asked for page 2 and got page 1'],
  ['fewer rows than announced', pageOf(2, 2, 9, [row]), '5 rows came of 9 announced'],
  ['rows of another', pageOf(2, 3, 9, [{ ...row, indicator: { id: 'X' } }]), 'a row of X instead of'],
  ['rows of the wrong type', pageOf(2, 3, 9, ['x']), 'without date or value'],
  ['rows that are not a list', pageOf(2, 3, 9, { a: 1 }), 'the rows are no list'],
  ['an object instead of a pair', json({ page: 2 }), 'no paging'],
  ['a page of HTML with status 200', { body: '<!doctype html><p>Sorry' }, 'HTML or XML instead of JSON'],
  ['a truncated body', 'shorten', 'not JSON, or cut off'],
  ['a connection that closes early', 'cut', ''],
  ['an empty body', { body: '' }, 'an empty response'],
  ['HTTP 500', { status: 500, body: 'oops' }, 'HTTP 500'],
])('%s fails the series and no other', async (_, fault, reason) => {
  const removeFault = modern.fail({ on: /all\/indicator\/A\.GOOD.*page=2/, do: fault as never });
  const { series, failed } = await read(modern);
  removeFault();
  expect([...failed.keys()]).toEqual(['A.GOOD']);
  expect(failed.get('A.GOOD')).toContain(reason);
  expect(series.get('B.GOOD')?.rows).toEqual(EXPECTED);
});

it('fails a series on a page with the rows of the one before', async () => {
  const first = await fetch(`${modern.url}country/all/indicator/A.GOOD?per_page=4`);
  const [paging, rows] = (await first.json()) as [object, object[]];
  const again = json([{ ...paging, page: 2 }, rows]);
  const removeFault = modern.fail({ on: /all\/indicator\/A\.GOOD.*page=2/, do: again });
  const { series, failed } = await read(modern);
  removeFault();
  expect([...failed.keys()]).toEqual(['A.GOOD']);
  expect(failed.get('A.GOOD')).toContain('repeats the page before');
  expect(series.get('B.GOOD')?.rows).toEqual(EXPECTED);
});

it('fails a series with an unknown licence, because it may be excepted', async () => {
  const removeFault = modern.fail({ on: /series\/B\.GOOD\/metadata/, do: { status: 503, body: '' } });
  const { series, failed } = await read(modern);
  removeFault();
  expect([...series.keys()]).toEqual(['A.GOOD']);
  expect(failed.get('B.GOOD')).toContain('HTTP 503');
});

it('fails the provider when no request succeeds', async () => {
  const removeFault = modern.fail({ on: /./, do: { status: 502, body: '' } });
  await expect(read(modern)).rejects.toThrow('HTTP 502');
  removeFault();
});
