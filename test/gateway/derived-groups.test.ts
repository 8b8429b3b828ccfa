/** `aggregate=declared` of GET /data: groups as places, with and without transforms. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { directoryOfTest } from '../after-tests.ts';
import { derivedCell, factorOf, isSame } from '../derived-figures.ts';
import {
  derivedRows,
  GROUP_FIGURES,
  GROUPS,
  INVENTED,
  linear,
  OUTPUT,
  PEOPLE,
  PUBLISHED,
  relative,
  startDerived,
  wholeOf,
} from './derived-world.ts';
import { COUNTRIES } from './fixture-data.ts';
import { publishFixture } from './fixture-snapshot.ts';
import { codeOf, Service } from './service.ts';

const { ask: askV1 } = await startDerived();
const ask = (query: string) => askV1(`data?${query}`);

interface Row {
  iso3: string | null;
  group: string | null;
  year: number;
  value: number | null;
  projected: boolean;
  status: string | null;
  reason: string | null;
  members: number | null;
  counted: number | null;
  coverage: number | null;
  method: string | null;
}
const FIELDS = 'iso3,group,year,value,projected,status,reason,members,counted,coverage,method';

/** The rows of a group, as a place. */
function groupRows(id: string, group: string, words: readonly string[]): Row[] {
  const rows = wholeOf(id, group, 0);
  const own = INVENTED.find((one) => one.id === id)?.rows ?? [];
  const counted = (year: number) =>
    own
      .filter((row) => row.year === year && row.value !== null && GROUPS[group]?.includes(row.iso3))
      .map(({ iso3 }) => iso3)
      .join();
  const held = GROUP_FIGURES[id]?.groups[group];
  return rows.map(({ year }, at) => {
    const given = { rows, found: [], scale: 0, divisor: null, whole: [], counted };
    const cell = derivedCell(given, words, '@', year) ?? {
      value: null,
      reason: null,
      status: null,
      projected: false,
    };
    const facts = { members: held?.members[at] ?? null, counted: held?.counted[at] ?? null };
    return {
      ...cell,
      iso3: null,
      group: `@${group}`,
      year,
      ...facts,
      // In whole percent, rounded down.
      coverage: Number(held?.coverage[at]?.toFixed(6).slice(0, 4)),
      method: 'sum',
    };
  });
}

const countryRows = (id: string, words: readonly string[], iso3: string): Row[] =>
  derivedRows(id, words)
    .filter((row) => row.iso3 === iso3)
    .map(({ year, value, projected, status, reason }) => ({
      iso3,
      group: null,
      year,
      value,
      projected,
      status,
      reason,
      members: null,
      counted: null,
      coverage: null,
      method: null,
    }));

const span = fc
  .tuple(fc.integer({ min: 1998, max: 2006 }), fc.integer({ min: 2007, max: 2016 }))
  .map(([from, to]) => ({
    sent: `from=${from}&to=${to}`,
    passes: (year: number) => from <= year && year <= to,
  }));
const someYears = fc
  .array(fc.integer({ min: 1998, max: 2016 }), { minLength: 1, maxLength: 6 })
  .map((years) => ({ sent: `years=${years}`, passes: (year: number) => years.includes(year) }));
const filter = fc.record(
  {
    years: fc.oneof(span, someYears),
    latest: fc.integer({ min: 1, max: 4 }),
    missing: fc.constantFrom('null', 'omit'),
  },
  { requiredKeys: [] },
);
const ALL_YEARS = { sent: 'from=-9999', passes: () => true };
const groups = fc.subarray(Object.keys(GROUPS), { minLength: 1 });
const countries = fc.subarray(COUNTRIES.map(({ iso3 }) => iso3)).map((codes) => codes.slice(0, 3));
const chain = fc.oneof(
  fc.constant<string[]>([]),
  fc.oneof(linear, relative).map((word) => [word]),
  fc.tuple(linear, relative),
);

test('rows, marks and price of groups among countries are those of the naive computation', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(OUTPUT, PEOPLE, 'alpha.deaths'),
      groups,
      countries,
      chain,
      filter,
      async (id, asked, codes, words, { years = ALL_YEARS, latest, missing, ...none }) => {
        expect(none).toEqual({});
        const places = [...codes, ...asked.map((group) => `@${group}`)];
        const sent = Object.entries({
          latest,
          missing,
          ...(words.length > 0 && { transform: words.join() }),
        });
        const more = sent
          .flatMap(([name, value]) => (value === undefined ? [] : [`&${name}=${value}`]))
          .join('');
        const answer = await ask(
          `indicator=${id}&countries=${places}&aggregate=declared&fields=${FIELDS}&${years.sent}${more}`,
        );
        expect([answer.status, answer.text]).toEqual([200, answer.text]);
        const all = [
          ...asked.toSorted().map((group) => groupRows(id, group, words)),
          ...codes.toSorted().map((iso3) => countryRows(id, words, iso3)),
        ];
        const expected = all.flatMap((rows) => {
          const kept = rows.filter(
            ({ year, value }) => years.passes(year) && (missing !== 'omit' || value !== null),
          );
          return latest === undefined
            ? kept
            : kept.filter(({ value, projected }) => value !== null && !projected).slice(-latest);
        });
        const marks = (rows: Row[]) => rows.map(({ value: _, ...rest }) => rest);
        expect(marks(answer.json.data)).toEqual(marks(expected));
        const wrong = answer.json.data.filter(
          ({ value }: Row, at: number) => !isSame(words.join(), value, expected[at]?.value ?? null),
        );
        expect(wrong).toEqual([]);
        expect(answer.headers['x-credits-charged']).toBe(
          String(Math.max(1, expected.length) * factorOf(words)),
        );
      },
    ),
    { numRuns: 120 },
  );
});

describe('an answer with groups', () => {
  const path = `countries=KEN,@wb-sub-saharan-africa&aggregate=declared&from=2004&to=2004`;

  test('has a column of groups, keeps what countries have, and says who the members are', async () => {
    const { json } = await ask(`indicator=${OUTPUT}&${path}`);
    const [plain] = (await ask(`indicator=${OUTPUT}&countries=KEN&from=2004&to=2004`)).json.data;
    expect(json.data).toMatchObject([
      { iso3: null, group: '@wb-sub-saharan-africa', year: 2004, rank: null, ci_lo: null },
      { ...plain, group: null },
    ]);
    expect(json.meta).toMatchObject({
      aggregate: 'declared',
      groups: [{ group: '@wb-sub-saharan-africa', members: ['CIV', 'KEN', 'ZWE'], as_of: '2026-01-01' }],
    });
  });

  test.each(['csv', 'ndjson', 'parquet', 'arrow', 'xlsx'])('comes as %s', async (format) => {
    const answer = await ask(`indicators=${OUTPUT},${PEOPLE}&${path}&format=${format}`);
    expect([answer.status, answer.headers['x-credits-charged']]).toEqual([200, '4']);
    if (format === 'csv') expect(answer.text).toContain(`${OUTPUT},,@wb-sub-saharan-africa,2004,`);
  });

  test('credits the series that weighs the members of a mean', async () => {
    const { json } = await ask(`indicator=alpha.rate&${path}&fields=group,method`);
    expect(json.data[0]).toEqual({ group: '@wb-sub-saharan-africa', method: 'mean' });
    expect(json.meta.weights).toMatchObject([{ id: PEOPLE, attribution: expect.stringContaining('Büro') }]);
    const { headers } = await ask(`indicator=alpha.rate&${path}&format=csv`);
    expect(decodeURIComponent(String(headers['x-attribution']))).toContain('Büro');
  });

  test('names codes that no country has, and no group', async () => {
    const { headers } = await ask(
      `indicator=${OUTPUT}&countries=ZZZ,@wb-sub-saharan-africa&aggregate=declared`,
    );
    expect(headers['x-unmatched-countries']).toBe('ZZZ');
  });
});

describe('refusals, which are free', () => {
  const group = 'countries=@wb-sub-saharan-africa&aggregate=declared';
  test.each([
    [`indicator=${OUTPUT}&countries=KEN&aggregate=declared`, 'value_error', ['query', 'aggregate']],
    [`indicator=${OUTPUT}&${group}&layout=wide`, 'value_error', ['query', 'aggregate']],
    [`indicator=${OUTPUT}&${group}&transform=growth,per_head`, 'value_error', ['query', 'transform', 1]],
    [`indicator=alpha.rate&${group}&transform=per_head`, 'value_error', ['query', 'transform', 0]],
    [`indicator=${OUTPUT}&group=KEN,USA,BRA&transform=per_head`, 'value_error', ['query', 'group']],
    [`indicator=alpha.unread&${group}`, 'transform_undefined', ['query', 'aggregate', 0]],
    [`indicator=${OUTPUT}&countries=@eu&aggregate=mine`, 'literal_error', ['query', 'aggregate']],
  ])('%s', async (query, type, loc) => {
    const { status, json, headers } = await ask(query);
    expect([status, json.detail[0].type, json.detail[0].loc]).toEqual([422, type, loc]);
    expect(headers['x-credits-charged']).toBe('0');
  });

  test.each([
    `indicator=${OUTPUT}&countries=@eu`,
    'indicator=alpha.unmeasured&countries=@wb-sub-saharan-africa',
  ])('%s is not in the edition', async (query) => {
    const answer = await ask(`${query}&aggregate=declared`);
    expect([answer.status, codeOf(answer)]).toEqual([404, 'not_in_edition']);
  });
});

test('a weight that may not be exported refuses the call', async () => {
  const answer = await ask('indicator=gamma.open&countries=@wb-sub-saharan-africa&aggregate=declared');
  expect([answer.status, codeOf(answer), answer.headers['x-credits-charged']]).toEqual([
    403,
    'export_restricted',
    '0',
  ]);
});

test('a member that is not shown today leaves its groups without figures, in earlier editions as well', async () => {
  const directory = await directoryOfTest();
  const first = '20261118T020000Z-00000001';
  await publishFixture(directory, { ...PUBLISHED, id: first });
  const countries = COUNTRIES.filter(({ iso3 }) => iso3 !== 'CIV');
  await publishFixture(directory, { ...PUBLISHED, id: '20261119T020000Z-00000002', countries });
  await using own = await Service.start({ snapshots: directory });
  const { key } = await own.account({ credits: 1_000 });
  const reasons = async (query: string): Promise<Set<string | null>> => {
    const { json } = await own.get(`/v1/data?indicator=${OUTPUT}&as_of=${first}&${query}`, { key });
    return new Set(json.data.flatMap(({ value, reason }: Row) => (value === null ? [reason] : ['figure'])));
  };
  const place = (group: string) => `countries=@${group}&aggregate=declared&fields=value,reason`;
  expect(await reasons(place('wb-sub-saharan-africa'))).toEqual(new Set(['withheld']));
  expect(await reasons(place('wb-europe-central-asia'))).toContain('figure');
  const share = 'transform=share:wb-sub-saharan-africa&fields=value,reason&missing=null';
  expect(await reasons(share)).not.toContain('figure');
});
