/**
 * Calls of tools whose answers are often too long, in a world made for it: many countries, and figures of many digits that agree
 * with many others. What each call costs is computed from that world.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import type { CountryRecord } from '../../../../data/schema/records.ts';
import { GROUPS } from '../../../../gateway/api/operations/operations.ts';
import { COUNTRIES, type FixtureIndicator } from '../../fixture-data.ts';
import { publishFixture } from '../../fixture-snapshot.ts';
import { PUBLIC_URL, Service, type TestKey } from '../../service.ts';
import { call, type ToolResult } from './mcp-client.ts';

const MEMBERS = GROUPS.get('african-union')?.members ?? [];
const YEARS = [2018, 2019, 2020, 2021, 2022];
const WIDE = MEMBERS.flatMap((iso3, at) =>
  COUNTRIES.slice(0, 1).map((one): CountryRecord => ({ ...one, iso3, name: `Country ${at}` })),
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
  /** How many figures or verdicts that is; null where the price is flat. */
  held: number | null;
  /** Of an answer with so many of them. */
  price: (given: number) => number;
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
        price: (given) => given + (where.codes.size > 0 ? counts.filter((count) => count === 0).length : 0),
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
        {
          ...{ minLength: length, maxLength: length },
        },
      ),
    )
    .map(
      (claims): Asked => ({
        tool: 'verify_claims',
        args: {
          claims: claims.map(([{ id }, { sent }, year, at]) => ({
            ...{ indicator: id, country: sent, year, value: String(Math.sqrt(at + 1)) },
          })),
        },
        held: claims.filter(([, { codes }]) => codes.length === 1).length,
        price: (given) => given,
      }),
    ),
  fc
    .tuple(fc.constantFrom(...LONG), fc.constantFrom(...YEARS), fc.integer({ min: 1, max: 250 }))
    .map(([{ id }, year, limit]) => ({
      tool: 'rank_countries',
      args: { indicator: id, year, limit },
      held: null,
      price: () => 1,
    })),
  member.map(({ sent }) => ({
    tool: 'country_profile',
    args: { country: sent, topic: 'health' },
    held: null,
    price: () => 1,
  })),
);

interface Accounts {
  account: TestKey;
  /** Pays for what the answers are compared with. */
  checker: TestKey;
}

/** Random calls; each is charged what its answer holds. @returns how many answers were cut, by tool */
export async function payLongAnswers(
  runs: number,
): Promise<{ cut: Map<string, number>; given: number; charged: number }> {
  const snapshots = await mkdtemp(join(tmpdir(), 'alm-money-'));
  await publishFixture(snapshots, { indicators: LONG, countries: WIDE });
  const service = await Service.start({ snapshots });
  const account = await service.account({ credits: 10_000_000 });
  const checker = await service.account({ credits: 10_000_000 });
  const cut = new Map<string, number>();
  const [total, before] = [{ given: 0 }, await service.balance(account)];
  try {
    await fc.assert(
      fc.asyncProperty(asked, async (question) => {
        const { given, isCut } = await pay(service, { account, checker }, question);
        total.given += given;
        if (isCut) cut.set(question.tool, (cut.get(question.tool) ?? 0) + 1);
      }),
      { numRuns: runs },
    );
    return { cut, ...total, charged: before - (await service.balance(account)) };
  } finally {
    await service.stop();
    await rm(snapshots, { recursive: true });
  }
}

async function pay(service: Service, accounts: Accounts, asked: Asked) {
  const { account } = accounts;
  const { tool, args, held, price } = asked;
  const before = await service.balance(account);
  const { structured } = await call(service, tool, args, { key: account });
  const { figures, verdicts, series, truncated, next_cursor, credits } = structured;
  const given: number = (figures ?? verdicts).length;
  assert.equal(credits.charged, price(given));
  assert.equal(before - (await service.balance(account)), credits.charged);
  if (held === null) return { given, isCut: false };
  assert.ok(next_cursor !== undefined || (truncated?.rows_held ?? given) === held);
  const shown = new Set((figures ?? verdicts).map(({ indicator }: { indicator: string }) => indicator));
  assert.deepEqual(new Set(series.map(({ indicator }: { indicator: string }) => indicator)), shown);
  if (given === held && next_cursor === undefined) return { given, isCut: false };
  const refused = await call(service, tool, { ...args, max_credits: credits.charged - 1 }, { key: account });
  assert.equal(refused.structured.error.code, 'max_credits_exceeded');
  if (next_cursor !== undefined)
    return { given: await payPages(service, accounts, asked, structured), isCut: true };
  const path = truncated.url.slice(PUBLIC_URL.length);
  const all = await service.get(`${path}&dry_run=true`, { key: account.key });
  assert.equal(all.json.data.price, truncated.price);
  assert.ok(truncated.price >= held);
  return { given, isCut: true };
}

/** The verdicts on all claims, page by page, are those on each claim alone, and cost as much. @returns how many they are */
async function payPages(
  service: Service,
  { account, checker }: Accounts,
  { tool, args, held }: Asked,
  first: ToolResult['structured'],
): Promise<number> {
  const verdicts = [...first.verdicts];
  for (let cursor = first.next_cursor; cursor !== undefined; ) {
    const { structured } = await call(service, tool, { ...args, cursor }, { key: account });
    assert.ok(structured.verdicts.length + structured.refusals.length > 0);
    assert.equal(structured.credits.charged, structured.verdicts.length);
    verdicts.push(...structured.verdicts);
    cursor = structured.next_cursor;
  }
  assert.equal(verdicts.length, held);
  const alone = (args.claims as unknown[]).map((claim) =>
    call(service, tool, { claims: [claim] }, { key: checker }),
  );
  const each = (await Promise.all(alone)).flatMap(({ structured }) => structured.verdicts);
  assert.deepEqual(verdicts, each);
  return verdicts.length;
}
