/** Derived figures with the TypeScript client: asked for, recomputed, and proved by receipts, of which no forged one passes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import {
  Almanac,
  derive,
  type GivenRow,
  parseKeys,
  Refused,
  verifyDerivation,
} from '../../clients/typescript/src/index.ts';
import { useDirectory } from '../after-tests.ts';
import { isSame } from '../derived-figures.ts';
import { OUTPUT, PEOPLE } from '../gateway/derived-world.ts';
import { EARLIER, forgedFrom, provedReceipts, publishProvable, RATE } from '../gateway/provable-world.ts';
import { useService } from '../gateway/service.ts';

type Cells = [year: number, value: number | null, status?: string | null, projected?: boolean][];
type Sums = [year: number, value: number | null, projected?: boolean, reason?: GivenRow['reason']][];
interface Vector {
  name: string;
  transform: string;
  rows: Cells;
  breaks?: number[];
  counted?: string[];
  divisor?: Cells;
  divisor_breaks?: number[];
  scales?: [series: number, divisor: number];
  whole?: Sums;
  expected: [year: number, value: number | null, ...marks: unknown[]][];
}
const page = join(import.meta.dirname, '../../docs/derived-vectors.json');
const { vectors }: { vectors: Vector[] } = JSON.parse(readFileSync(page, 'utf8'));

const toRows = (cells: Cells = []): GivenRow[] =>
  cells.map(([year, value, status = null, projected = false]) => ({ year, value, status, projected }));

test.each(vectors)('derives the test vector $transform: $name', ({ transform, rows, expected, ...given }) => {
  const [series = 0, divisor = 0] = given.scales ?? [];
  const found = derive(toRows(rows), transform, {
    breaks: given.breaks ?? [],
    divisorBreaks: given.divisor_breaks ?? [],
    divisor: toRows(given.divisor),
    scales: { series, divisor },
    ...(given.counted && { counted: given.counted }),
    whole: (given.whole ?? []).map(([year, value, projected = false, reason = null]) => ({
      year,
      value,
      projected,
      reason,
    })),
  });
  for (const [at, { year, value, reason, status, projected }] of found.entries()) {
    const [expectedYear, expectedValue = null, ...marks] = expected[at] ?? [];
    expect([year, reason, status, projected]).toEqual([expectedYear, ...marks]);
    expect([value, isSame(transform, value, expectedValue)]).toEqual([value, true]);
  }
  expect(found).toHaveLength(expected.length);
});

it('derives nothing by what is no transform', () => {
  expect(() => derive([], 'growth:0')).toThrow('growth:N needs a number of years');
});

const root = await useDirectory();
await publishProvable(root);
const service = await useService({ snapshots: root });
const owner = await service.account({ credits: 1_000_000 });
const ask = (path: string) => service.get(`/v1/${path}`, { key: owner.key });
const client = new Almanac({ key: owner.key, baseUrl: service.url });

describe('figures', () => {
  it('are derived by transform, with the reason where there is none, and credit what they are made of', async () => {
    const fields = ['iso3', 'year', 'value', 'reason'] as const;
    const asked = { countries: 'CIV', transform: ['per_head', 'growth'] };
    const table = await client.data(OUTPUT, { ...asked, fields });
    const answer = await ask(
      `data?indicator=${OUTPUT}&countries=CIV&transform=per_head,growth&fields=${fields}`,
    );
    expect([table.rows, table.price]).toEqual([answer.json.data, (await client.price(OUTPUT, asked)).price]);
    expect(table.price).toBeGreaterThan(table.length);
    expect(table.rows.map(({ reason }) => reason)).toContain('no_base');
    expect(table.provenance.series.map(({ id }) => id)).toEqual([OUTPUT, PEOPLE]);
    const both = await client.data([OUTPUT, 'alpha.deaths'], { transform: 'per_head', latest: 1 });
    expect(both.provenance.series.map(({ id }) => id)).toEqual([OUTPUT, 'alpha.deaths', PEOPLE]);
    const ranking = await client.rank(OUTPUT, { year: 2005, transform: 'per_head' });
    expect(ranking.rows).toEqual((await ask(`rankings/${OUTPUT}?year=2005&transform=per_head`)).json.data);
  });

  it('are those of groups as places, declared or of ones own', async () => {
    const table = await client.data(RATE, { countries: '@world', aggregate: 'declared', latest: 1 });
    expect(table.rows).toMatchObject([{ indicator: RATE, iso3: null, group: '@world' }]);
    expect(table.provenance.series.map(({ id }) => id)).toEqual([RATE, PEOPLE]);
    const group = ['CIV', 'KEN', 'ZWE'];
    const own = await client.data(OUTPUT, { group, aggregate: 'median', years: 2005 });
    expect(own.rows.map((row) => row.group)).toEqual(['CIV,KEN,ZWE']);
    const named = await client.data(OUTPUT, {
      countries: '@world',
      aggregate: 'declared',
      latest: 1,
      names: true,
    });
    expect(named.rows[0]?.name).toBe('World');
    const keys = Object.keys(named.rows[0] ?? {});
    expect(keys.slice(0, 5)).toEqual(['indicator', 'iso3', 'group', 'name', 'year']);
    const how = await client.data(OUTPUT, {
      countries: '@world',
      aggregate: 'declared',
      years: 2005,
      fields: ['members', 'counted', 'coverage', 'method'],
    });
    expect(how.rows).toMatchObject([{ method: 'sum', members: expect.any(Number) }]);
    expect((await client.revisions(own)).meta[0]).toMatchObject({ countries: group });
  });
});

describe('receipts', () => {
  it('prove the figure of the world and that of an overruled edition, under a lock as well', async () => {
    const lock = await client.lock(EARLIER);
    const locked = new Almanac({ key: owner.key, baseUrl: service.url, lock });
    const keys = await locked.keys();
    const proved = async (
      one: Almanac,
      country: string,
      how: { aggregate?: 'declared'; transform: string },
    ) => {
      const fields = ['year', 'value'] as const;
      const [figure] = (await one.data(OUTPUT, { countries: country, latest: 1, fields, ...how })).rows;
      const receipt = await one.receipt(OUTPUT, country, figure?.year ?? 0, how);
      const verified = await verifyDerivation(receipt, keys);
      expect(verified.figure.value).toBe(figure?.value);
      expect([verified.recipe.place, verified.edition.edition === EARLIER]).toEqual([
        country,
        one === locked,
      ]);
      return verified.figure.value ?? Number.NaN;
    };
    const world = { aggregate: 'declared', transform: 'growth:2' } as const;
    expect(await proved(client, '@world', world)).toBe(await proved(locked, '@world', world));
    const head = { transform: 'per_head' };
    expect((await proved(client, 'CIV', head)) / (await proved(locked, 'CIV', head))).toBeCloseTo(1000, 6);
  });

  it('are accepted as served, and refused as forged', async () => {
    const keys = await parseKeys(await client.keysDocument());
    for (const genuine of await provedReceipts(ask)) {
      const { figure } = await verifyDerivation(JSON.stringify(genuine), keys);
      expect(figure).toMatchObject(genuine.figure);
      for (const forged of forgedFrom(genuine))
        await expect(verifyDerivation(JSON.stringify(forged), keys)).rejects.toThrow(Refused);
    }
  });
});
