/**
 * The same random work over HTTP and through the tools costs the same, `max_credits` is never passed, and what is paid is what
 * an answer holds, also where it is cut.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { COUNTRIES, INDICATORS } from '../../fixture-data.ts';
import { useService } from '../../service.ts';
import { payLongAnswers } from './long-answers.ts';
import { call } from './mcp-client.ts';

const CREDITS = 1_000_000;

const service = await useService();
const tools = await service.account({ credits: CREDITS });
const http = await service.account({ credits: CREDITS });

const open = INDICATORS.filter(({ access_tier, no_rank }) => access_tier !== 'display' && no_rank !== true);
const indicator = fc.constantFrom(...open.map(({ id }) => id), 'alpha.none');
const country = fc.constantFrom(...COUNTRIES.map(({ iso3 }) => iso3));
const countries = fc.uniqueArray(country, { minLength: 1, maxLength: 5 });
/** Few enough that no answer is cut. */
const years = fc
  .tuple(fc.integer({ min: 1990, max: 2024 }), fc.nat(5))
  .map(([from, more]) => ({ from, to: from + more }));

/** One question, as both are asked it. */
interface Question {
  tool: string;
  args: Record<string, unknown>;
  path: string;
}

const data = (
  ids: readonly string[],
  codes: readonly string[],
  when: { from: number; to: number },
): Question => ({
  tool: 'get_data',
  args: { indicators: ids, countries: codes, ...when },
  path: `/v1/data?indicators=${ids}&countries=${codes}&from=${when.from}&to=${when.to}&missing=omit`,
});
const question: fc.Arbitrary<Question> = fc.oneof(
  fc
    .tuple(
      fc.uniqueArray(
        indicator.filter((id) => id !== 'alpha.none'),
        { minLength: 1, maxLength: 3 },
      ),
      countries,
      years,
    )
    .map((parts) => data(...parts)),
  fc.tuple(fc.constant(['alpha.none']), countries, years).map((parts) => data(...parts)),
  fc.tuple(indicator, countries).map(([id, codes]) => ({
    tool: 'get_data',
    args: { indicators: [id], countries: codes },
    path: `/v1/data?indicators=${id}&countries=${codes}&latest=1`,
  })),
  fc
    .tuple(indicator, fc.option(fc.integer({ min: 1990, max: 2024 }), { nil: undefined }))
    .map(([id, year]) => ({
      tool: 'rank_countries',
      args: { indicator: id, ...(year !== undefined && { year }) },
      path: `/v1/rankings/${id}?year=${year ?? 'latest'}`,
    })),
  fc.tuple(indicator, countries, fc.integer({ min: 1990, max: 2024 })).map(([id, codes, year]) => ({
    tool: 'compare_countries',
    args: { indicators: [id], countries: codes, year },
    path: `/v1/data?indicators=${id}&countries=${codes}&from=${year}&to=${year}&missing=omit`,
  })),
  country.map((code) => ({
    tool: 'country_profile',
    args: { country: code },
    path: `/v1/countries/${code}?featured=true`,
  })),
  fc
    .tuple(
      indicator,
      fc.array(fc.tuple(country, fc.integer({ min: 2000, max: 2022 })), { minLength: 1, maxLength: 5 }),
    )
    .map(([id, claims]) => ({
      tool: 'verify_claims',
      args: { claims: claims.map(([code, year]) => ({ indicator: id, country: code, year, value: '80' })) },
      path: `/v1/verify?${claims.map(([code, year]) => `claim=${id},${code},${year},80`).join('&')}`,
    })),
);

/** What stands in the ledger, but for the route. */
const entryOf = (cause: object) => {
  const { rows, indicators } = cause as { rows: number; indicators?: string[] };
  return { rows, indicators: indicators?.toSorted() };
};

test('equal questions cost the same and stand in the ledger in the same way', async () => {
  await fc.assert(
    fc.asyncProperty(question, async ({ tool, args, path }) => {
      const { structured } = await call(service, tool, args, { key: tools });
      const { headers } = await service.get(path, { key: http.key });
      expect(structured.credits.charged, path).toBe(Number(headers['x-credits-charged']));
      expect(structured.page === undefined || tool === 'rank_countries').toBe(true);
    }),
    { numRuns: 150 },
  );
  expect(await service.balance(tools)).toBe(await service.balance(http));
  const [byTool, byPath] = await Promise.all(
    [tools, http].map(async ({ account_id }) =>
      (await service.accounts.ledger(account_id, { limit: 500 })).filter(({ delta }) => delta < 0),
    ),
  );
  expect(byTool?.length).toBeGreaterThan(50);
  expect(byTool?.map(({ kind, delta, cause }) => ({ kind, delta, ...entryOf(cause) }))).toEqual(
    byPath?.map(({ kind, delta, cause }) => ({ kind, delta, ...entryOf(cause) })),
  );
  for (const entry of byTool ?? [])
    expect(entry.cause).toMatchObject({ route: expect.stringMatching(/^mcp:/) });
});

test('max_credits is never passed, and what it refuses is free', async () => {
  await fc.assert(
    fc.asyncProperty(question, fc.nat(6), async ({ tool, args }, max_credits) => {
      const before = await service.balance(tools);
      const { structured, isError } = await call(service, tool, { ...args, max_credits }, { key: tools });
      const spent = before - (await service.balance(tools));
      expect(spent).toBe(structured.credits.charged);
      expect(spent).toBeLessThanOrEqual(max_credits);
      if (isError) expect(spent).toBe(0);
    }),
    { numRuns: 100 },
  );
});

test('what is paid is what the pages of an answer hold, nothing is lost or paid twice, and the price is known before', async () => {
  const { cut } = await payLongAnswers(100);
  for (const tool of ['compare_countries', 'get_data', 'rank_countries'])
    expect(cut.get(tool)).toBeGreaterThan(0);
});
