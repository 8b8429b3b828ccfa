/** Pages of tools: together they hold all, each once and in its order, of one edition, also when a newer one is served meanwhile. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TOOLS } from '../../../../gateway/api/mcp/tools/registry.ts';
import { useDirectory } from '../../../after-tests.ts';
import { type FixtureIndicator, INDICATORS } from '../../fixture-data.ts';
import { publishFixture } from '../../fixture-snapshot.ts';
import { PUBLIC_URL, useService } from '../../service.ts';
import { call, type HostFigure, type ToolResult } from './mcp-client.ts';

/** More than a profile has room for. */
const TARIFFS = Array.from(
  { length: 150 },
  (_none, at): FixtureIndicator => ({
    id: `alpha.tariff_line_${at}`,
    name: `Tariff line ${at} ${'of goods with a long name '.repeat(4)}`,
    topic: 'trade',
    rows: [{ iso3: 'KEN', year: 2020, value: at + 0.5 }],
  }),
);
const WORLD = [...INDICATORS, ...TARIFFS];

const [FIRST, SECOND] = ['20261118T020000Z-00000001', '20261119T020000Z-00000002'];
const snapshots = await useDirectory();
await publishFixture(snapshots, { id: FIRST, generatedAt: '2026-11-18T02:00:00+00:00', indicators: WORLD });
const settings = { SNAPSHOT_POLL_MS: '1000000' };
const service = await useService({ snapshots, settings });
const key = await service.account({ credits: 1_000_000 });

type Structured = ToolResult['structured'];
const ask = async (name: string, args: Record<string, unknown>): Promise<Structured> => {
  const { structured, figures } = await call(service, name, args, { key });
  const { credits: _credits, ...answer } = structured;
  return { ...answer, figures };
};

/** The first page and those after it. */
async function withOthers(
  first: Structured,
  name: string,
  args: Record<string, unknown>,
): Promise<Structured[]> {
  const pages = [first];
  for (let last = first; last.page?.cursor !== undefined; pages.push(last))
    last = await ask(name, { ...args, cursor: last.page.cursor });
  return pages;
}

/** Of each tool that can have several pages in the fixture. */
const LONG: readonly (readonly [string, Record<string, unknown>])[] = [
  ['find_indicators', { query: 'life expectancy of people', limit: 1 }],
  ['rank_countries', { indicator: 'beta.long_series', limit: 2 }],
  ['get_data', { indicators: ['beta.long_series'], from: 1770 }],
  [
    'verify_claims',
    {
      // A page has at most 20 refusals.
      claims: Array.from({ length: 50 }, (_none, at) => ({
        indicator: 'beta.long_series',
        country: at < 40 ? `Mars ${at}` : 'Kenya',
        year: 1970 + at,
        value: '6.5',
      })),
    },
  ],
];

test('every tool but search and fetch takes a cursor, and says which rows it gives', () => {
  for (const { inputSchema, outputSchema } of TOOLS.filter(({ isBare }) => !isBare)) {
    expect(inputSchema.properties).toHaveProperty('cursor');
    expect(outputSchema.properties).toHaveProperty('page');
  }
});

test('the pages of a search hold what GET /v1/search finds, each once and in its order', async () => {
  const words = fc.constantFrom(
    'life',
    'people',
    'child mortality',
    'gdp',
    'co2',
    'series',
    'lifespan',
    'alpha.zero',
  );
  const query = fc.array(words, { minLength: 1, maxLength: 3 }).map((all) => all.join(' '));
  let cut = 0;
  await fc.assert(
    fc.asyncProperty(query, fc.integer({ min: 1, max: 20 }), async (phrase, limit) => {
      const { json } = await service.get(`/v1/search?limit=50&q=${encodeURIComponent(`${phrase} `)}`);
      const args = { query: phrase, limit };
      const pages = await withOthers(await ask('find_indicators', args), 'find_indicators', args);
      const hits = pages.flatMap(({ indicators }) => indicators);
      expect(hits.map(({ indicator, match }) => [indicator, match])).toEqual(
        json.data.map(({ id, match }: { id: string; match: string }) => [id, match]),
      );
      for (const { match, page, indicators } of pages) {
        expect([match, indicators.length <= limit]).toEqual([json.meta.match, true]);
        if (pages.length > 1)
          expect([page.of, page.last - page.first + 1]).toEqual([hits.length, indicators.length]);
      }
      if (pages.length > 1) cut += 1;
    }),
    { numRuns: 60 },
  );
  expect(cut).toBeGreaterThan(0);
});

test('a profile can be read to its end', async () => {
  const args = { country: 'Kenya', topic: 'trade' };
  const pages = await withOthers(await ask('country_profile', args), 'country_profile', args);
  expect(pages.length).toBeGreaterThan(1);
  const read: string[] = pages.flatMap(({ figures }) =>
    figures.map(({ indicator }: HostFigure) => indicator),
  );
  expect(read.toSorted()).toEqual(TARIFFS.map(({ id }) => id).toSorted());
});

test('pages, and the call that gives all of them, are of the edition of the first one, also when another is served meanwhile', async () => {
  const before = new Map<string, Structured[]>();
  for (const [name, args] of LONG) before.set(name, await withOthers(await ask(name, args), name, args));
  const indicators = WORLD.map((one) => ({
    ...one,
    name: one.name.replace('Life', 'Long life'),
    rows: one.rows.slice(1).map((row) => ({ ...row, value: row.value && row.value + 1 })),
  }));
  await publishFixture(snapshots, { id: SECOND, generatedAt: '2026-11-19T02:00:00+00:00', indicators });
  await service.snapshots.check();
  for (const [name, args] of LONG) {
    const [first, ...others] = before.get(name) ?? [];
    expect(others.length, name).toBeGreaterThan(0);
    expect(new Set([first, ...others].map(({ edition }) => edition))).toEqual(new Set([FIRST]));
    expect(await withOthers(first, name, args)).toEqual([first, ...others]);
    expect((await ask(name, args)).edition).toBe(SECOND);
    const { url } = first.page;
    if (url === undefined) continue;
    const { json } = await service.get(url.slice(PUBLIC_URL.length), { key: key.key });
    const given = [first, ...others].flatMap(({ figures }) => figures);
    expect(json.data.map(({ value }: { value: number }) => value)).toEqual(given.map(({ value }) => value));
  }
});
