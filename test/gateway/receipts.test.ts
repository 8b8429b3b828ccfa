/** Receipts, the log's proofs and the published keys, over HTTP and verified as a reader would. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  parseKeys,
  readCheckpoint,
  verifyOneLog,
  verifyReceipt,
  verifyRows,
} from '../../data/proofs/verify-receipt.ts';
import { useDirectory } from '../after-tests.ts';
import { query } from '../build/parquet-readers.ts';
import { block } from '../style/documentation.ts';
import { type FixtureIndicator, HARD_DOUBLES, INDICATORS } from './fixture-data.ts';
import { FIXTURE_ID, publishFixture, writeFixture } from './fixture-snapshot.ts';
import { Service, useService } from './service.ts';

const EARLIER = '20261119T020000Z-00000001';
const root = await useDirectory();
await writeFixture(root, { id: EARLIER, generatedAt: '2026-11-19T02:00:00+00:00' });
await publishFixture(root);
const service = await useService({ snapshots: root });
const { key } = await service.account();

/** Figures that are hard to print, with statuses in words and as a source wrote them. */
const FLAGGED: FixtureIndicator = {
  id: 'alpha.flagged',
  name: 'Flagged',
  unit: 'mm',
  topic: 'health',
  rows: ['KEN', 'BRA'].flatMap((iso3) =>
    HARD_DOUBLES.map((value, at) => ({
      iso3,
      year: 1990 + at,
      value: at === 3 ? null : value,
      projected: at > 7,
      ci_hi: value,
      ...(at % 2 === 0 && {
        status: ['break, provisional', 'low reliability', 'author’s “guess”'][at % 3] ?? '',
      }),
    })),
  ),
};

const text = async (path: string): Promise<string> => (await service.get(path)).text;
const keys = async () => parseKeys(await text('/.well-known/almanac-keys.json'));
const receiptOf = (indicator: string, country: string, year: number, more = '') =>
  service.get(`/v1/receipts?indicator=${indicator}&country=${country}&year=${year}${more}`, { key });

describe('a receipt', () => {
  test('proves every row of the open indicators, in the served edition and an earlier one', async () => {
    const known = await keys();
    const open = INDICATORS.filter(({ access_tier: tier = 'open' }) => tier === 'open').slice(0, 6);
    for (const { id, rows, unit = null } of open) {
      for (const { iso3, year, value, ci_lo = null, ci_hi = null, projected = false } of rows.slice(0, 12)) {
        for (const edition of [FIXTURE_ID, EARLIER]) {
          const as_of = edition === FIXTURE_ID ? '' : `&as_of=${EARLIER}`;
          const answer = await receiptOf(id, iso3.toLowerCase(), year, as_of);
          expect([answer.status, answer.headers['x-credits-charged']]).toEqual([200, '1']);
          const verified = verifyReceipt(answer.text, known);
          const plain = value === null ? null : value + 0; // -0 is 0
          expect(verified.row).toEqual({ iso3, year, value: plain, ci_lo, ci_hi, status: null, projected });
          expect(verified.descriptor).toMatchObject({ indicator: id, unit });
          expect(verified.edition.edition).toBe(edition);
        }
      }
    }
  });

  test('with all rows, of /v1/data or of the file, its whole tree is rebuilt', async () => {
    const snapshots = join(root, 'flagged');
    await publishFixture(snapshots, { indicators: [FLAGGED] });
    await using flagged = await Service.start({ snapshots });
    const account = await flagged.account({ credits: 1000 });
    const ask = (path: string) => flagged.get(path, { key: account.key });
    const known = parseKeys((await ask('/.well-known/almanac-keys.json')).text);
    const proof = await ask(`/v1/receipts?indicator=${FLAGGED.id}&country=BRA&year=1990`);
    const verified = verifyReceipt(proof.text, known);
    const { text: rows } = await ask(
      `/v1/data?indicator=${FLAGGED.id}&fields=iso3,year,value,ci_lo,ci_hi,status,projected`,
    );
    verifyRows(verified, rows);
    expect(() => verifyRows(verified, rows.replace('low reliability', 'U'))).toThrow('not those of the tree');
    const file = join(root, 'world-bank.SP.POP.TOTL.parquet');
    await writeFile(file, (await ask(`/v1/files/${FLAGGED.id}.parquet`)).bytes);
    const [, copy = ''] = block('receipt-rows-from-a-file').content.split('\n');
    await query(copy.replace(/(?<=')(?=\S+\.(?:parquet|json)')/g, `${root}/`));
    verifyRows(verified, await readFile(join(root, 'rows.json'), 'utf8'));
  });

  test('is refused without charge where there is no row, no indicator or no right to export', async () => {
    const before = (await service.get('/v1/ping', { key })).json.data.credits;
    const codes = await Promise.all([
      receiptOf('alpha.life_expectancy', 'KEN', 1066),
      receiptOf('alpha.life_expectancy', 'ZZZ', 2020),
      receiptOf('none.such', 'KEN', 2020),
      receiptOf('gamma.reserves', 'KEN', 2020),
      receiptOf('alpha.life_expectancy', 'KEN', 2020, '&as_of=1999-01-01'),
    ]);
    expect(codes.map(({ status, json }) => [status, json.error.code])).toEqual([
      [404, 'figure_not_found'],
      [404, 'figure_not_found'],
      [404, 'indicator_not_found'],
      [403, 'export_restricted'],
      [404, 'edition_not_found'],
    ]);
    const served = (await service.get('/v1/editions')).json.data[0].id;
    expect(codes.map(({ headers }) => headers['x-snapshot'] ?? null)).toEqual([
      ...[served, served, served, served],
      null,
    ]);
    const misspelt = await receiptOf('alpha.life_expectancy', 'Kenyya', 2020);
    expect([misspelt.status, misspelt.json.detail[0].ctx.candidates]).toEqual([
      422,
      [{ iso3: 'KEN', name: 'Kenya' }],
    ]);
    expect((await service.get('/v1/ping', { key })).json.data.credits).toEqual(before);
  });
});

test('the log has a signed head under both prefixes, and proofs that it only grew', async () => {
  const known = await keys();
  const note = await text('/v1/log/checkpoint');
  expect(await text('/data/api/v1/log/checkpoint')).toBe(note);
  const head = readCheckpoint(note, known);
  expect(head).toMatchObject({ size: 2, origin: 'almanac.example/log' });
  verifyOneLog(head, head, undefined);
  const { json } = await service.get('/v1/log/consistency?from=1');
  expect(json.data).toMatchObject({ from: 1, to: 2 });
  const first = await service.get('/v1/log/consistency?from=1&to=1');
  expect(first.json.data).toEqual({ from: 1, to: 1, path: [] });
  for (const sizes of ['from=0', 'from=3', 'from=2&to=1', 'from=1&to=3'])
    expect((await service.get(`/v1/log/consistency?${sizes}`)).json.error.code).toBe('log_size_not_found');
});
