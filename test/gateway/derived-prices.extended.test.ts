/**
 * What derived calls cost, and what they give away: `dry_run`, debit and ledger agree, and no call, however it is put
 * together, gives published figures for fewer credits than asking for them.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { FORMATS } from '../../gateway/api/encoders/encoders.ts';
import { directoryOfTest } from '../after-tests.ts';
import { factorOf } from '../derived-figures.ts';
import {
  EDITION_GROUPS,
  GROUP_FIGURES,
  GROUPS,
  group,
  INVENTED,
  linear,
  OUTPUT,
  PEOPLE,
  relative,
  startDerived,
} from './derived-world.ts';
import { COUNTRIES } from './fixture-data.ts';
import { publishFixture } from './fixture-snapshot.ts';
import { Service } from './service.ts';

/** In whole numbers, of which quotients tell the most. */
const WHOLE = INVENTED.map((one) => ({
  ...one,
  rows: one.rows.map((row) => ({ ...row, value: row.value === null ? null : Math.round(row.value) })),
}));
const { service, owner, ask } = await startDerived({ indicators: WHOLE });
const BALANCE = 1_000_000_000;

const own = (id: string) => WHOLE.find((one) => one.id === id)?.rows ?? [];
const published = (id: string, iso3: string, year: number): number | null =>
  own(id).find((row) => row.iso3 === iso3 && row.year === year)?.value ?? null;

const series = fc.constantFrom(OUTPUT, PEOPLE, 'alpha.deaths', 'alpha.rate', 'gamma.open', 'gamma.sum');
const member = fc.constantFrom(...COUNTRIES.slice(1).map(({ iso3 }) => iso3));
const members = fc.uniqueArray(member, { minLength: 3, maxLength: 6 });
const year = fc.integer({ min: 2000, max: 2015 });
const divided = fc.oneof(relative, group, fc.constantFrom('per_head', `per:${PEOPLE}`, 'per:gamma.shown'));
const words = fc.oneof(
  divided.map((word) => [word]),
  linear.map((word) => [word]),
  fc.tuple(fc.oneof(divided, linear), fc.oneof(divided, linear)),
);
const filter = fc
  .record(
    {
      countries: members,
      from: year,
      latest: fc.integer({ min: 1, max: 3 }),
      missing: fc.constantFrom('null', 'omit'),
    },
    { requiredKeys: [] },
  )
  .map((sent) =>
    Object.entries(sent)
      .map(([name, value]) => `&${name}=${value}`)
      .join(''),
  );
const grouped = fc.constantFrom(
  ...Object.keys(GROUPS).map((id) => `&countries=@${id},KEN&aggregate=declared`),
);
const format = fc.oneof(
  { weight: 3, arbitrary: fc.constant('json' as const) },
  { weight: 1, arbitrary: fc.constantFrom(...FORMATS) },
);

interface Call {
  path: string;
  words: readonly string[];
  form?: string;
}
const call: fc.Arbitrary<Call> = fc.oneof(
  fc
    .tuple(fc.oneof(series, fc.constant(`${OUTPUT},${PEOPLE}`)), words, filter, format)
    .map(([ids, of, more, form]) => ({
      path: `data?indicators=${ids}&transform=${of}${more}&format=${form}`,
      words: of,
      form,
    })),
  fc.tuple(series, words, year, format).map(([id, of, at, form]) => ({
    path: `rankings/${id}?transform=${of}&year=${at}&format=${form}`,
    words: of,
    form,
  })),
  fc
    .tuple(series, grouped, fc.option(fc.oneof(linear, relative), { nil: null }))
    .map(([id, places, word]) => ({
      path: `data?indicator=${id}${places}${word === null ? '' : `&transform=${word}`}`,
      words: word === null ? [] : [word],
    })),
  fc
    .tuple(series, members, fc.constantFrom('declared', 'median', 'min'), fc.constantFrom('null', 'omit'))
    .map(([id, codes, method, missing]) => ({
      path: `data?indicator=${id}&group=${codes}&aggregate=${method}&missing=${missing}&fields=value,counted,method`,
      words: [],
    })),
  fc.tuple(series, member, words, year).map(([id, iso3, of, at]) => ({
    path: `receipts?indicator=${id}&country=${iso3}&year=${at}&transform=${of}`,
    words: of,
  })),
);

/** By what the answer holds. */
// biome-ignore lint/suspicious/noExplicitAny: JSON of several operations
function expectedPrice({ path, words: of }: Call, { data, meta }: any): number {
  if (path.startsWith('receipts'))
    return data.series.reduce((sum: number, { given }: { given: [] }) => sum + given.length, 0);
  if (path.startsWith('rankings')) return factorOf(of);
  const price = path.includes('group=')
    ? data.reduce(
        (sum: number, { counted, method }: { counted: number; method: string }) =>
          sum + Math.max(1, counted * (method === 'mean' ? 2 : 1)),
        0,
      )
    : meta.count;
  return Math.max(1, price) * factorOf(of);
}

test('dry run, debit and ledger agree, in every format', async () => {
  const ledger = redisKeys.ledger(owner.account_id);
  const newest = async () => (await service.client.xrevrange(ledger, '+', '-', 'COUNT', 1))[0]?.[1] ?? [];
  let [spent, priced] = [0, 0];
  await fc.assert(
    fc.asyncProperty(call, async (made) => {
      const before = await newest();
      const told = await ask(`${made.path}&dry_run=true`);
      expect(await newest()).toEqual(before);
      const { status, text, headers, json } = await ask(made.path);
      if (told.status !== 200) {
        expect([status, text, await newest()]).toEqual([told.status, told.text, before]);
        return;
      }
      const { price } = told.json.data;
      expect(headers['x-credits-charged']).toBe(String(price));
      const entry = await newest();
      expect(entry[entry.indexOf('delta') + 1]).toBe(String(-price));
      if ((made.form ?? 'json') === 'json') expect(price).toBe(expectedPrice(made, json));
      spent += price;
      priced += 1;
    }),
    { numRuns: 1000 },
  );
  expect(priced).toBeGreaterThan(400);
  expect(await service.balance(owner)).toBe(BALANCE - spent);
});

/** Numerator and denominator of the simplest fraction that is this double. */
function fractionOf(value: number): [number, number] | null {
  let [before, last] = [
    [0, 1],
    [1, 0],
  ] as [[number, number], [number, number]];
  for (let rest = value, step = 0; step < 40; step += 1) {
    const whole = Math.floor(rest);
    const next: [number, number] = [whole * last[0] + before[0], whole * last[1] + before[1]];
    [before, last] = [last, next];
    if (Math.abs(last[0] / last[1] - value) <= Math.abs(value) * 1e-14) return last;
    rest = 1 / (rest - whole);
  }
  return null;
}

test('a quotient that gives away both of its figures costs as much as they do', async () => {
  let recovered = 0;
  await fc.assert(
    fc.asyncProperty(member, year, fc.oneof(relative, fc.constant('per_head')), async (iso3, at, word) => {
      const question = `indicator=alpha.deaths&countries=${iso3}&from=${at}&to=${at}&transform=${word}&missing=omit`;
      const { json, headers } = await ask(`data?${question}`);
      const [row] = json.data;
      if (row === undefined) return;
      const [name = '', argument = '1'] = word.split(':');
      const ratio = name === 'growth' ? (1 + row.value / 100) ** Number(argument) : row.value / 100;
      const fraction = fractionOf(name === 'per_head' ? row.value * 1000 : ratio);
      const base =
        name === 'per_head'
          ? published(PEOPLE, iso3, at)
          : published('alpha.deaths', iso3, name === 'index' ? Number(argument) : at - Number(argument));
      const isBoth = fraction?.[0] === published('alpha.deaths', iso3, at) && fraction?.[1] === base;
      if (isBoth) recovered += 1;
      expect(Number(headers['x-credits-charged'])).toBeGreaterThanOrEqual(isBoth ? 2 : 1);
      const ranked = await ask(`rankings/alpha.deaths?transform=${word}&year=${at}`);
      expect(Number(ranked.headers['x-credits-charged'])).toBeGreaterThanOrEqual(isBoth ? 2 : 1);
    }),
    { numRuns: 300 },
  );
  expect(recovered).toBeGreaterThan(20);
});

test('what a group of one’s own covers does not tell the figure of a member that is missing', async () => {
  let looked = 0;
  await fc.assert(
    fc.asyncProperty(members, year, async (codes, at) => {
      const question = `data?indicator=${PEOPLE}&group=${codes}&from=${at}&to=${at}`;
      const [row] = (await ask(`${question}&fields=coverage`)).json.data;
      const free = await Promise.all(
        ['', '&missing=omit', '&latest=1'].map((more) => ask(`${question}${more}&dry_run=true`)),
      );
      const told = free.map((one) => JSON.stringify(one.json.data));
      // Of projected years, the newest observed are none.
      expect(new Set(at > 2012 ? told.slice(0, 2) : told).size).toBe(1);
      if (row === undefined || row.coverage === 1 || row.coverage === 0) return;
      looked += 1;
      expect(row.coverage).toBe(Math.round(row.coverage * 100) / 100);
    }),
    { numRuns: 200 },
  );
  expect(looked).toBeGreaterThan(20);
});

test('nothing tells a figure of a country that is not shown today, of an earlier edition either', async () => {
  const hidden = 'KEN';
  const shownRoot = await directoryOfTest();
  const all = { indicators: WHOLE, groups: GROUP_FIGURES, editionGroups: EDITION_GROUPS };
  const id = '20261119T020000Z-00000001';
  await publishFixture(shownRoot, { ...all, id, generatedAt: '2026-11-19T02:00:00+00:00' });
  const countries = COUNTRIES.filter(({ iso3 }) => iso3 !== hidden);
  await publishFixture(shownRoot, { ...all, countries });
  await using later = await Service.start({ snapshots: shownRoot });
  const { key } = await later.account({ credits: BALANCE });
  const rows = async (query: string) =>
    (await later.get(`/v1/data?indicator=${OUTPUT}${query}&as_of=${id}`, { key })).json.data;
  const region = Object.keys(GROUPS).find((one) => GROUPS[one]?.includes(hidden));
  for (const row of await rows(
    `&countries=@${region}&aggregate=declared&fields=value,counted,coverage,reason`,
  ))
    expect(row).toEqual({ value: null, counted: 0, coverage: 0, reason: 'withheld' });
  for (const { iso3, value } of await rows(`&transform=share:${region}&fields=iso3,value`))
    expect([iso3 === hidden, value]).toEqual([false, null]);
  // Of overlapping groups there is no difference.
  const withIt = `&group=${hidden},CIV,ZWE,DEU&fields=group,members,counted,value`;
  expect(await rows(withIt)).toEqual(await rows(withIt.replace(`${hidden},`, '')));
  const told = await Promise.all(
    own(OUTPUT)
      .filter(({ iso3 }) => iso3 === hidden)
      .map(({ year: at }) =>
        later.get(
          `/v1/receipts?indicator=${OUTPUT}&country=${hidden}&year=${at}&transform=growth&as_of=${id}`,
          { key },
        ),
      ),
  );
  // Neither is it told why there is no figure, as that one is 0 or below.
  expect(new Set(told.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
});
