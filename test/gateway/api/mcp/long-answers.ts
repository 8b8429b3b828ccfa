/**
 * Calls of tools whose answers are often too long, in a world made for it: many countries with long names, and figures of many digits
 * that agree with many others. What each page of an answer costs, and what all of them hold, is computed from that world.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { CountryRecord } from '../../../../data/schema/records.ts';
import { GROUPS } from '../../../../gateway/api/operations/operations.ts';
import { directoryOfTest } from '../../../after-tests.ts';
import { COUNTRIES, type FixtureIndicator } from '../../fixture-data.ts';
import { publishFixture } from '../../fixture-snapshot.ts';
import { PUBLIC_URL, Service, type TestKey } from '../../service.ts';
import { call, type ToolResult } from './mcp-client.ts';

const MEMBERS = GROUPS.get('african-union')?.members ?? [];
const YEARS = [2018, 2019, 2020, 2021, 2022];
const WIDE = MEMBERS.flatMap((iso3, at) =>
  COUNTRIES.slice(0, 1).map(
    (one): CountryRecord => ({ ...one, iso3, name: `Country ${at} ${'of a very long name '.repeat(10)}` }),
  ),
);

const wide = (number: number, years: readonly number[], members: readonly string[]): FixtureIndicator => ({
  id: `alpha.a_series_with_a_name_of_usual_length.${number}`,
  name: `Series number ${number} of the long names, by sex and age group (share of all, in %)`,
  unit: '% of the population of the age group',
  topic: 'health',
  rows: members.flatMap((iso3, at) =>
    years.map((year) => ({ iso3, year, value: Math.sqrt(1 + ((number * 7 + at * 3 + year) % 11)) })),
  ),
});
const LONG: FixtureIndicator[] = [
  ...[1, 2, 3, 4].map((number) => wide(number, YEARS, MEMBERS)),
  wide(5, [2019], MEMBERS.slice(0, 3)),
  wide(6, [2001], MEMBERS.slice(-2)),
];

interface Asked {
  tool: string;
  args: Record<string, unknown>;
  /** How many figures, or claims, that is. */
  held: number;
  /** Of a page with so many of them. */
  price: (given: number, isFirst: boolean) => number;
}

const member = fc.constantFrom(...MEMBERS).map((code) => ({ sent: code, codes: [code] }));
const place = fc.oneof(
  fc.constant({ sent: '@african-union', codes: MEMBERS }),
  fc.constant({ sent: 'Atlantis', codes: [] }),
  member,
);
const places = fc
  .array(place, { minLength: 1, maxLength: 20 })
  .map((all) => ({ sent: all.map(({ sent }) => sent), codes: new Set(all.flatMap(({ codes }) => codes)) }));
const known = (max: number) =>
  fc.uniqueArray(fc.constantFrom(...LONG, null), { minLength: 1, maxLength: max }).map((all) => ({
    sent: all.map((one) => one?.id ?? 'alpha.none'),
    held: all.filter((one) => one !== null),
  }));

const rowsOf = ({ rows }: FixtureIndicator, codes: ReadonlySet<string>) =>
  rows.filter(({ iso3 }) => codes.has(iso3));
const countIn = (one: FixtureIndicator, codes: ReadonlySet<string>, from: number, to = from): number =>
  rowsOf(one, codes).filter(({ year }) => from <= year && year <= to).length;
const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0);

const asked: fc.Arbitrary<Asked> = fc.oneof(
  fc.tuple(known(6), places, fc.integer({ min: 2000, max: 2023 }), fc.nat(6)).map(
    ([{ sent, held }, where, from, more]): Asked => ({
      tool: 'get_data',
      args: { indicators: sent, countries: where.sent, from, to: from + more },
      held: sum(held.map((one) => countIn(one, where.codes, from, from + more))),
      price: (given) => (held.length > 0 && where.codes.size > 0 ? Math.max(1, given) : 0),
    }),
  ),
  fc
    .tuple(known(5), places, fc.option(fc.constantFrom(2001, ...YEARS), { nil: undefined }))
    .map(([{ sent, held }, where, year]): Asked => {
      // Every country that has a series has the same years of it.
      const newest = (one: FixtureIndicator): number => rowsOf(one, where.codes).at(-1)?.year ?? 0;
      const counts = held.map((one) => countIn(one, where.codes, year ?? newest(one)));
      return {
        tool: 'compare_countries',
        args: { indicators: sent, countries: where.sent, ...(year !== undefined && { year }) },
        held: sum(counts),
        price: (given, isFirst) =>
          given + (isFirst && where.codes.size > 0 ? counts.filter((count) => count === 0).length : 0),
      };
    }),
  fc
    .tuple(fc.constantFrom(1, 50), fc.oneof({ arbitrary: member, weight: 9 }, place))
    .chain(([length, where]) =>
      fc.array(
        fc.tuple(
          fc.constantFrom(...LONG),
          fc.oneof(member, fc.constant(where)),
          fc.constantFrom(...YEARS),
          fc.nat(9),
        ),
        { minLength: length, maxLength: length },
      ),
    )
    .map(
      (claims): Asked => ({
        tool: 'verify_claims',
        args: {
          claims: claims.map(([{ id }, { sent }, year, at]) => ({
            indicator: id,
            country: sent,
            year,
            value: String(Math.sqrt(at + 1)),
          })),
        },
        held: claims.length,
        price: (given) => given,
      }),
    ),
  fc
    .tuple(fc.constantFrom(...LONG), fc.constantFrom(...YEARS), fc.integer({ min: 9, max: 250 }))
    .map(([one, year, limit]) => ({
      tool: 'rank_countries',
      args: { indicator: one.id, year, limit },
      held: countIn(one, new Set(MEMBERS), year),
      price: () => 1,
    })),
  member.map(({ sent }) => ({
    tool: 'country_profile',
    args: { country: sent, topic: 'health' },
    held: LONG.filter((one) => rowsOf(one, new Set([sent])).length > 0).length,
    price: () => 1,
  })),
);

/** Random calls; each page is charged what it holds, and all hold all. @returns how many answers had several pages, by tool */
export async function payLongAnswers(
  runs: number,
): Promise<{ cut: Map<string, number>; given: number; charged: number }> {
  const snapshots = await directoryOfTest();
  await publishFixture(snapshots, { indicators: LONG, countries: WIDE });
  await using service = await Service.start({ snapshots });
  const account = await service.account({ credits: 10_000_000 });
  const cut = new Map<string, number>();
  const [total, before] = [{ given: 0 }, await service.balance(account)];
  await fc.assert(
    fc.asyncProperty(asked, async (question) => {
      const { given, isCut } = await pay(service, account, question);
      total.given += given;
      if (isCut) cut.set(question.tool, (cut.get(question.tool) ?? 0) + 1);
    }),
    { numRuns: runs, examples: widest.map((one): [Asked] => [one]) },
  );
  return { cut, ...total, charged: before - (await service.balance(account)) };
}

/** All that the widest call of a tool gives, so that pages do not hang on what is drawn. */
const widest: Asked[] = [
  {
    tool: 'get_data',
    args: { indicators: LONG.map(({ id }) => id), countries: ['@african-union'], from: 2000, to: 2023 },
    held: sum(LONG.map(({ rows }) => rows.length)),
    price: (given) => given,
  },
  {
    tool: 'compare_countries',
    args: { indicators: LONG.slice(0, 4).map(({ id }) => id), countries: ['@african-union'], year: 2019 },
    held: sum(LONG.slice(0, 4).map((one) => countIn(one, new Set(MEMBERS), 2019))),
    price: (given) => given,
  },
  {
    tool: 'rank_countries',
    args: { indicator: LONG[0]?.id, year: 2019, limit: 250 },
    held: MEMBERS.length,
    price: () => 1,
  },
];

/** All pages of a question, each charged what it holds. */
async function pay(service: Service, account: TestKey, { tool, args, held, price }: Asked) {
  const before = await service.balance(account);
  const verdicts: unknown[] = [];
  const seen = new Set<string>();
  const total = { shown: 0, given: 0, charged: 0, pages: 0 };
  for (let sent = args; total.pages === 0 || sent !== args; ) {
    const { structured, figures } = await call(service, tool, sent, { key: account });
    const { series, refusals, page, credits } = structured;
    const rows: { indicator: string }[] = structured.verdicts ?? figures;
    assert.equal(credits.charged, price(rows.length, total.pages === 0));
    const ids = (all: { indicator: string }[]) => new Set(all.map(({ indicator }) => indicator));
    assert.deepEqual(ids(series), ids(rows));
    verdicts.push(...(structured.verdicts ?? []));
    for (const { indicator, iso3, year } of figures) seen.add(`${indicator} ${iso3} ${year}`);
    const shown = rows.length + (structured.verdicts ? refusals.length : 0);
    if (page !== undefined)
      assert.deepEqual([page.first, page.last, page.of], [total.shown + 1, total.shown + shown, held]);
    total.shown += shown;
    total.given += rows.length;
    total.charged += credits.charged;
    total.pages += 1;
    if (total.pages === 1 && page !== undefined)
      await payLess(service, account, { tool, args, held }, structured);
    sent = page?.cursor === undefined ? args : { ...args, cursor: page.cursor };
  }
  assert.equal(total.shown, held);
  assert.equal(before - (await service.balance(account)), total.charged);
  if (tool === 'verify_claims') assert.deepEqual(verdicts, await verdictsAlone(service, args));
  else assert.equal(seen.size, total.given);
  return { given: total.given, isCut: total.pages > 1 };
}

/** The verdicts on some claims, each asked alone by somebody else. */
async function verdictsAlone(service: Service, args: Asked['args']): Promise<unknown[]> {
  const key = await service.account({ credits: 100 });
  const answers = (args.claims as unknown[]).map((claim) =>
    call(service, 'verify_claims', { claims: [claim] }, { key }),
  );
  return (await Promise.all(answers)).flatMap(({ structured }) => structured.verdicts);
}

/** A cut answer costs what it says, no less, and names a call that gives all, with its price. */
async function payLess(
  service: Service,
  account: TestKey,
  { tool, args, held }: Pick<Asked, 'tool' | 'args' | 'held'>,
  { page, credits }: ToolResult['structured'],
): Promise<void> {
  const refused = await call(service, tool, { ...args, max_credits: credits.charged - 1 }, { key: account });
  assert.equal(refused.structured.error.code, 'max_credits_exceeded');
  if (page.url === undefined) return;
  const path = page.url.slice(PUBLIC_URL.length);
  const all = await service.get(`${path}${path.includes('?') ? '&' : '?'}dry_run=true`, { key: account.key });
  assert.equal(all.json.data.price, page.price);
  if (/^(get|compare)/.test(tool)) assert.ok(page.price >= held);
}
