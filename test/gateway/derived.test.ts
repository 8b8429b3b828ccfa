/** `transform` of GET /data, against a naive computation over the published figures. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { directoryOfTest } from '../after-tests.ts';
import { factorOf, isSame } from '../derived-figures.ts';
import {
  BREAKS,
  derivedRows,
  group,
  INVENTED,
  linear,
  OUTPUT,
  PEOPLE,
  relative,
  startDerived,
} from './derived-world.ts';
import { COUNTRIES, type FixtureIndicator } from './fixture-data.ts';
import { publishFixture } from './fixture-snapshot.ts';
import { type Answer, codeOf, Service } from './service.ts';
import { type DataCall, expectedData, queryOf, type World } from './shape/expected-data.ts';

const { ask } = await startDerived();
const { json: countryList } = await ask('countries');

/** Chains that are defined for all of these. */
const asked = fc.oneof(
  fc.record({
    ids: fc.constantFrom(OUTPUT, 'alpha.deaths', [OUTPUT, 'alpha.deaths']),
    words: fc.oneof<fc.Arbitrary<string[]>[]>(
      relative.map((word) => [word]),
      fc.constant(['per_head']),
      fc.tuple(fc.constant('per_head'), fc.oneof(linear, relative)),
      fc.tuple(linear, fc.oneof(relative, fc.constantFrom('per_head', `per:${PEOPLE}`))),
      fc.tuple(fc.constant('mean:2'), group),
      fc.tuple(group, linear),
      fc.tuple(relative, linear),
    ),
  }),
  fc.record({
    ids: fc.constantFrom(PEOPLE, [PEOPLE, OUTPUT]),
    words: fc.oneof(group, relative).map((one) => [one]),
  }),
  fc.record({
    ids: fc.constantFrom('alpha.rate', [PEOPLE, 'alpha.rate']),
    words: linear.map((one) => [one]),
  }),
);
/** None of what was derived. */
const MARKS = ['ci_lo', 'ci_hi', 'rank', 'rank_lo', 'rank_hi', 'rank_delta_1y'] as const;
const shape = fc.oneof(
  fc.constant({}),
  fc.record({ layout: fc.constantFrom('long', 'wide') }),
  fc.record({
    fields: fc.uniqueArray(
      fc.constantFrom(...MARKS, 'iso3', 'year', 'value', 'status', 'reason', 'projected'),
      {
        minLength: 1,
      },
    ),
  }),
);
const filter = fc.record(
  {
    countries: fc.uniqueArray(fc.constantFrom(...COUNTRIES.map(({ iso3 }) => iso3)), {
      minLength: 1,
      maxLength: 5,
    }),
    from: fc.integer({ min: 1998, max: 2006 }),
    to: fc.integer({ min: 2007, max: 2016 }),
    latest: fc.integer({ min: 1, max: 4 }),
    missing: fc.constantFrom('null', 'omit'),
  },
  { requiredKeys: [] },
);

const withoutValues = (rows: readonly object[], ids: readonly string[]) =>
  rows.map((row) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => name !== 'value' && !ids.includes(name))),
  );
const valuesIn = (rows: readonly object[], ids: readonly string[]) =>
  rows.flatMap((row) =>
    Object.entries(row).flatMap(([name, cell]) => (name === 'value' || ids.includes(name) ? [cell] : [])),
  );

test('rows, marks, count and price are those of the naive computation, in every shape', async () => {
  await fc.assert(
    fc.asyncProperty(asked, shape, filter, async ({ ids, words }, ...parts) => {
      const call: DataCall = { indicators: ids, ...Object.assign({}, ...parts) };
      const world: World = {
        countries: countryList.data,
        indicators: [],
        rowsOf: async (id) => derivedRows(id, words),
      };
      const answer = await ask(`data?${queryOf(call)}&transform=${words.join()}`);
      const { rows, price } = await expectedData(world, call);
      expect([answer.status, answer.text]).toEqual([200, answer.text]);
      const all = [ids].flat();
      expect(withoutValues(answer.json.data, all)).toEqual(withoutValues(rows, all));
      const [values, wanted] = [valuesIn(answer.json.data, all), valuesIn(rows, all)];
      expect(values.filter((value, at) => !isSame(words.join(), value, wanted[at]))).toEqual([]);
      expect(answer.headers['x-credits-charged']).toBe(String(price * factorOf(words)));
      expect(answer.json.meta).toMatchObject({ count: rows.length, transform: words });
    }),
    { numRuns: 150 },
  );
});

test('every reason occurs in what was compared', () => {
  const rows = [
    ['growth:1'],
    ['mean:3'],
    ['index:2001'],
    ['per_head'],
    ['share:wb-europe-central-asia'],
  ].flatMap((words) => derivedRows(OUTPUT, words));
  expect([...new Set(rows.map(({ reason }) => reason ?? 'none'))].sort()).toEqual(
    ['break', 'coverage', 'gap', 'no_base', 'none', 'not_positive', 'territory', 'withheld', 'zero'].sort(),
  );
});

describe('what is said of it', () => {
  const creditOf = (id: string) =>
    expect.objectContaining({ id, licence: expect.any(String), attribution: expect.any(String) });

  test('formula, unit, and inputs with licence and credit line', async () => {
    const { json, headers } = await ask(`data?indicator=${OUTPUT}&countries=KEN&transform=per_head,growth`);
    expect(json.meta).toMatchObject({
      indicator: OUTPUT,
      unit: '%',
      transform: ['per_head', 'growth:1'],
      derivation: {
        formula: 'v(t) ÷ population(t); of these, 100 × ((v(t) − v(t−1)) ÷ v(t−1))',
        unit: '%',
        inputs: [creditOf(OUTPUT), creditOf(PEOPLE)],
      },
    });
    expect(json.meta.derivation.inputs[0].unit).toBe('billions of US dollars');
    expect(decodeURIComponent(String(headers['x-attribution'] ?? ''))).toBe('');
  });

  test('of several indicators, each has its own', async () => {
    const { json } = await ask(`data?indicators=${OUTPUT},alpha.deaths&countries=KEN&transform=per_head`);
    expect(json.meta.derivation).toBeUndefined();
    expect(json.meta.indicators).toMatchObject([
      { id: OUTPUT, unit: 'US dollars per person', derivation: { unit: 'US dollars per person' } },
      {
        id: 'alpha.deaths',
        unit: 'deaths per person',
        derivation: { inputs: [{ id: 'alpha.deaths' }, { id: PEOPLE }] },
      },
    ]);
  });

  test.each([
    ['alpha.rate', 'change:5', 'percentage points'],
    [OUTPUT, 'change:5', 'billions of US dollars'],
    [OUTPUT, 'growth:5', '% per year'],
    [OUTPUT, 'index:2000', 'index, 2000 = 100'],
    [OUTPUT, 'mean:5', 'billions of US dollars'],
    [OUTPUT, `per:${PEOPLE}`, 'billions of US dollars per thousands'],
    [PEOPLE, 'share:wb-sub-saharan-africa', '%'],
  ])('the unit of %s under %s is %s, in each format', async (id, transform, unit) => {
    const path = `data?indicator=${id}&countries=KEN&from=2009&to=2009&transform=${transform}`;
    expect((await ask(path)).json.meta.unit).toBe(unit);
    expect((await ask(`${path}&fields=unit`)).json.data).toEqual([{ unit }]);
    expect((await ask(`${path}&format=sdmx-csv`)).text).toContain(unit);
  });

  test('a file credits the series that it is divided by', async () => {
    const { headers } = await ask(`data?indicator=${OUTPUT}&countries=KEN&transform=per_head&format=csv`);
    const credits = decodeURIComponent(String(headers['x-attribution']));
    expect(credits).toContain('Alpha Institute');
    expect(credits).toContain('Büro');
  });
});

describe('refusals, which are free', () => {
  const refusal = async (path: string) => {
    const answer = await ask(path);
    expect(answer.headers['x-credits-charged']).toBe('0');
    return answer;
  };

  test.each([
    ['alpha.rate', 'growth', 'rate', ['change', 'mean']],
    ['alpha.rate', 'per_head', 'rate', ['change', 'mean']],
    ['alpha.rate', 'share:eu', 'rate', ['change', 'mean']],
    ['alpha.unread', 'change', 'other', []],
    [OUTPUT, 'growth,growth', 'growth', ['change', 'mean']],
    [OUTPUT, 'per:alpha.rate', 'rate', ['change', 'growth', 'index', 'mean', 'per_head', 'share']],
    [PEOPLE, 'per_head', 'count', ['change', 'growth', 'index', 'mean', 'per', 'share']],
  ])(
    '%s under %s is undefined, and says what it measures and what is defined',
    async (id, transform, measure, instead) => {
      for (const path of [`data?indicator=${id}&`, `rankings/${id}?`]) {
        const { status, json } = await refusal(`${path}transform=${transform}`);
        expect([status, json.detail[0].type]).toEqual([422, 'transform_undefined']);
        expect(json.detail[0]).toMatchObject({ ctx: { indicator: id, measure, instead } });
        expect(json.detail[0].msg).toContain('is defined for');
      }
    },
  );

  test.each([
    ['growth:0', ['query', 'transform', 0]],
    ['change,change,change', ['query', 'transform', 2]],
    ['share:nowhere', ['query', 'transform', 0]],
    [`per:${OUTPUT}`, ['query', 'transform', 0]],
  ])('transform=%s is invalid', async (transform, loc) => {
    const { status, json } = await refusal(`data?indicator=${OUTPUT}&transform=${transform}`);
    expect([status, json.detail[0].type, json.detail[0].loc]).toEqual([422, 'value_error', loc]);
  });

  test.each([
    [`indicator=${OUTPUT}&transform=per:none.such`, 404, 'indicator_not_found'],
    ['indicator=alpha.unmeasured&transform=change', 404, 'not_in_edition'],
    [`indicator=${OUTPUT}&transform=per:alpha.unmeasured`, 404, 'not_in_edition'],
    ['indicator=gamma.shown&transform=change', 403, 'export_restricted'],
    [`indicator=${OUTPUT}&transform=per:gamma.shown`, 403, 'export_restricted'],
    ['indicator=gamma.open&transform=per_head', 403, 'export_restricted'],
  ])('%s', async (query, status, code) => {
    const answer = await refusal(`data?${query}`);
    expect([answer.status, codeOf(answer)]).toEqual([status, code]);
  });

  test('nothing is derived from a display-only series in a ranking, though it is shown', async () => {
    expect((await ask('rankings/gamma.shown?year=2005')).status).toBe(200);
    for (const path of ['gamma.shown?transform=change', `alpha.output?transform=per:gamma.shown`])
      expect(codeOf(await refusal(`rankings/${path}`))).toBe('export_restricted');
  });
});

test('a call without a transform has no reason, and is otherwise as ever', async () => {
  const { json } = await ask(`data?indicator=${OUTPUT}&countries=KEN&fields=iso3,year,value,reason`);
  const plain = await ask(`data?indicator=${OUTPUT}&countries=KEN&fields=iso3,year,value`);
  expect(json.data).toEqual(plain.json.data.map((row: object) => ({ ...row, reason: null })));
  expect(Object.keys(plain.json.meta)).not.toContain('transform');
});

describe('an earlier edition', () => {
  const FIRST = '20261118T020000Z-00000001';
  const SECOND = '20261119T020000Z-00000002';
  const THIRD = '20261120T020000Z-00000003';
  const [output] = INVENTED;
  const people = INVENTED.filter(({ id }) => id === PEOPLE);
  const measuring = (measured: FixtureIndicator['measured']): FixtureIndicator[] => {
    if (output === undefined) throw new Error('nothing is invented');
    const { measured: _, ...one } = output;
    return [{ ...one, ...(measured && { measured }) }, ...people];
  };

  test('answers by what its series measured then, and by its own breaks', async () => {
    const directory = await directoryOfTest();
    const publish = (id: string, measured: FixtureIndicator['measured'], breaks: typeof BREAKS) =>
      publishFixture(directory, { id, indicators: measuring(measured), added: { breaks } });
    await publish(FIRST, undefined, {});
    await publish(SECOND, { measure: 'amount', population: PEOPLE }, BREAKS);
    await publish(THIRD, { measure: 'rate' }, {});
    await using own = await Service.start({ snapshots: directory });
    const { key } = await own.account({ credits: 10_000 });
    const at = (edition: string, path = `/v1/data?indicator=${OUTPUT}&transform=per_head`) =>
      own.get(`${path}&as_of=${edition}`, { key });
    expect(codeOf(await at(FIRST))).toBe('not_in_edition');
    expect((await at(THIRD)).json.detail[0]).toMatchObject({
      type: 'transform_undefined',
      ctx: { measure: 'rate' },
    });
    const { status, json } = await at(SECOND);
    expect([status, json.meta.unit]).toEqual([200, 'US dollars per person']);
    const change = `/v1/data?indicator=${OUTPUT}&countries=KEN&transform=change:1&fields=year,reason`;
    const broken = (answer: Answer) =>
      answer.json.data.filter(({ reason }: { reason: string | null }) => reason === 'break').length;
    expect(broken(await at(SECOND, change))).toBeGreaterThan(broken(await at(THIRD, change)));
    expect((await at(THIRD, `/v1/rankings/${OUTPUT}?transform=change:1`)).status).toBe(200);
  });
});
