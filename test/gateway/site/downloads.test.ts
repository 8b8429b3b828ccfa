/** Free files of what a page shows: the rows of the API, under their licence, so many an hour and address. */
import { parse } from 'csv-parse/sync';
import { beforeEach, describe, expect, test } from 'vitest';
import { NOON, useService } from '../service.ts';
import { linksOf, sectionOf, textOf } from './page-text.ts';

const HOUR_MS = 3_600_000;
const PER_HOUR = 30;
const TERMS = ['unit', 'licence', 'attribution', 'edition'];

const service = await useService({ settings: { TRUST_PROXY: '127.0.0.1' } });
const key = await service.account({ credits: 1_000_000 });

// An hour of its own for each test.
let hours = 0;
beforeEach(() => {
  hours += 1;
  service.clock.ms = NOON + hours * HOUR_MS;
});

const from = (address: string, path: string, headers = {}) =>
  service.get(path, { headers: { 'x-forwarded-for': address, ...headers } });

const OPEN = 'alpha.life_expectancy';
const ranking = (year: number, format = 'csv') => `/indicators/${OPEN}/ranking.${format}?year=${year}`;
const rowsOf = (csv: string): string[][] => parse(csv, { relax_column_count: false });

/** The file without the columns that say its terms. */
function withoutTerms(csv: string): string[][] {
  const [head = [], ...rows] = rowsOf(csv);
  expect(head.slice(-TERMS.length)).toEqual(TERMS);
  return [head, ...rows].map((row) => row.slice(0, -TERMS.length));
}

function valuesIn(csv: string): number {
  const [head = [], ...rows] = rowsOf(csv);
  const at = head.indexOf('value');
  return rows.filter((row) => row[at] !== '').length;
}

/** By the path of a file, the call of the API with the same rows. */
const FILES = {
  [`/indicators/${OPEN}/ranking`]: `/v1/rankings/${OPEN}?year=2021`,
  [`/indicators/${OPEN}/ranking.?year=2020`]: `/v1/rankings/${OPEN}?year=2020`,
  [`/indicators/${OPEN}/lines.?countries=ken,DEU,QQQ`]: `/v1/data?indicator=${OPEN}&countries=DEU,KEN`,
  '/indicators/alpha.regime_code/ranking.?year=2011':
    '/v1/data?indicator=alpha.regime_code&from=2011&to=2011',
};
const named = (file: string, format: string): string =>
  file.includes('.?') ? file.replace('.?', `.${format}?`) : `${file}.${format}`;

describe('a file', () => {
  test.for(Object.entries(FILES))('has exactly the rows of the API: %s', async ([file, call]) => {
    const api = async (format: string) =>
      service.get(`${call}${call.includes('?') ? '&' : '?'}format=${format}`, { key: key.key });
    const csv = await service.get(named(file, 'csv'));
    expect([csv.status, csv.headers['content-type']]).toEqual([200, 'text/csv; charset=utf-8']);
    expect(withoutTerms(csv.text)).toEqual(rowsOf((await api('csv')).text));
    const xlsx = await service.get(named(file, 'xlsx'));
    expect(xlsx.status).toBe(200);
    expect(xlsx.bytes.equals((await api('xlsx')).bytes)).toBe(true);
  });

  test('says its licence, credit line and edition in each row, and is named by what it has', async () => {
    const { text, headers } = await service.get(`/indicators/${OPEN}/lines.csv?countries=KEN,BRA`);
    const { record } = (await service.snapshots.current()?.indicator(OPEN)) ?? {};
    const [, ...rows] = rowsOf(text);
    expect(rows.length).toBeGreaterThan(1);
    for (const row of rows)
      expect(row.slice(-TERMS.length)).toEqual([
        ...[record?.unit, record?.licence, record?.attribution],
        service.snapshots.current()?.id,
      ]);
    expect(headers['content-disposition']).toBe(`attachment; filename="${OPEN}.BRA-KEN.csv"`);
    expect(headers['x-robots-tag']).toBe('noindex');
    expect(headers['x-attribution']).toBeDefined();
  });

  test('is there for HEAD', async () => {
    const { status, headers, bytes } = await service.get(ranking(2020), { method: 'HEAD' });
    expect([status, bytes.length]).toEqual([200, 0]);
    expect(headers['content-disposition']).toBe(`attachment; filename="${OPEN}.2020.csv"`);
  });

  test('is of an open series only', async () => {
    for (const kind of ['ranking.csv', 'ranking.xlsx', 'lines.csv', 'lines.xlsx']) {
      expect((await service.get(`/indicators/gamma.reserves/${kind}`)).status).toBe(403);
      expect((await service.get(`/indicators/alpha.nothing/${kind}`)).status).toBe(404);
    }
    const html = (await service.get('/indicators/gamma.reserves')).text;
    expect(html).not.toMatch(/(ranking|lines)\.(csv|xlsx)/);
  });

  test('is never a whole series', async () => {
    const { json } = await service.get('/v1/indicators');
    for (const { id, access_tier } of json.data) {
      if (access_tier !== 'open') continue;
      const all = await service.get(`/v1/data?indicator=${id}&missing=omit`, { key: key.key });
      const codes = [...new Set(all.json.data.map(({ iso3 }: { iso3: string }) => iso3))];
      const years = new Set(all.json.data.map(({ year }: { year: number }) => year));
      const whole = [
        ...[...years].map((year) => `/indicators/${id}/ranking.csv?year=${year}`),
        ...(codes.length > 0 ? [`/indicators/${id}/lines.csv?countries=${codes.slice(0, 12)}`] : []),
      ];
      for (const [at, path] of whole.entries()) {
        const { status, text } = await from(`198.18.${at}.${id.length}`, path);
        const values = status === 200 ? valuesIn(text) : 0;
        expect([path, values < all.json.data.length || all.json.data.length === 0]).toEqual([path, true]);
      }
    }
  });
});

describe('an address', () => {
  const year = (at: number): string => ranking(1900 + at);
  const statuses = async (answers: readonly Promise<{ status: number }>[]): Promise<number[]> =>
    (await Promise.all(answers)).map(({ status }) => status).sort();

  test('takes thirty different files an hour, however many it asks for at once', async () => {
    const asked = Array.from({ length: 40 }, (_, at) => from('192.0.2.1', year(at)));
    expect(await statuses(asked)).toEqual([...Array(PER_HOUR).fill(200), ...Array(10).fill(429)]);
    service.clock.ms += HOUR_MS;
    expect((await from('192.0.2.1', year(99))).status).toBe(200);
  });

  test('takes the same files again, so that a class of thirty is served', async () => {
    const files = [year(1), year(2), year(3), `/indicators/${OPEN}/lines.xlsx?countries=KEN,DEU`];
    const asked = files.flatMap((file) => Array.from({ length: 30 }, () => from('192.0.2.2', file)));
    expect(await statuses(asked)).toEqual(Array(120).fill(200));
    const others = Array.from({ length: 27 }, (_, at) => from('192.0.2.2', year(at + 10)));
    expect(await statuses(others)).toEqual([...Array(26).fill(200), 429]);
    for (const file of files) expect((await from('192.0.2.2', file)).status).toBe(200);
  });

  test('is the network of an IPv6 address, and a key makes no other one of it', async () => {
    const asked = Array.from({ length: 31 }, (_, at) =>
      from(`2001:db8:0:1::${at.toString(16)}`, year(at), { authorization: `Bearer ${key.key}` }),
    );
    expect(await statuses(asked)).toEqual([...Array(PER_HOUR).fill(200), 429]);
    expect((await from('2001:db8:0:2::1', year(99))).status).toBe(200);
  });

  test('is told when there are more, and the way to a key', async () => {
    service.clock.ms = Date.UTC(2026, 11, 1, 13, 47);
    await Promise.all(Array.from({ length: PER_HOUR }, (_, at) => from('192.0.2.3', year(at))));
    const { status, headers, text } = await from('192.0.2.3', year(77));
    expect([status, headers['retry-after']]).toEqual([429, String(13 * 60)]);
    expect(textOf(text)).toContain('others from 14:00 UTC on');
    expect(linksOf(text)).toEqual(expect.arrayContaining(['/account/sign-up', '/pricing']));
  });

  test('loses nothing by files that there are not', async () => {
    const refused = Array.from({ length: 31 }, (_, at) =>
      from('192.0.2.4', `/indicators/gamma.reserves/ranking.csv?year=${1900 + at}`),
    );
    expect(await statuses(refused)).toEqual(Array(31).fill(403));
    expect((await from('192.0.2.4', year(1))).status).toBe(200);
  });
});

test('the page of an indicator links the files of what it shows, beside the price of the whole series', async () => {
  const { text } = await service.get(`/indicators/${OPEN}?countries=KEN,DEU&year=2020`);
  const use = sectionOf(text, 'use');
  const files = linksOf(use).filter((href) => /\.(csv|xlsx)/.test(href));
  expect(files).toEqual(
    [
      'lines.csv?countries=KEN,DEU',
      'lines.xlsx?countries=KEN,DEU',
      'ranking.csv?year=2020',
      'ranking.xlsx?year=2020',
    ].map((file) => `/indicators/${OPEN}/${file}`),
  );
  for (const file of files) expect([file, (await service.get(file)).status]).toEqual([file, 200]);
  expect(textOf(use)).toContain('All countries and years');
  const pricing = textOf((await service.get('/pricing')).text);
  expect(pricing).toContain('30 different files an hour from one address');
});
