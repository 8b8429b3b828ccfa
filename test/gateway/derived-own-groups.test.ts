/** `group` of GET /data: groups of the caller's own, against a naive computation over the published figures. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { expectedMean, expectedSum, inYear, last, type Row, total } from '../group-figures.ts';
import { GROUP_FIGURES, GROUPS, INVENTED, OUTPUT, PEOPLE, startDerived } from './derived-world.ts';
import { COUNTRIES } from './fixture-data.ts';
import { codeOf } from './service.ts';

const { ask: askV1 } = await startDerived();
const ask = (query: string) => askV1(`data?${query}`);

interface Figure {
  year: number;
  value: number | null;
  members: number;
  counted: number;
  coverage: number;
  projected: boolean;
  reason: string | null;
}

const rowsOf = (id: string, iso3: string): Row[] =>
  (INVENTED.find((one) => one.id === id)?.rows ?? []).flatMap(
    ({ iso3: of, year, value, projected = false }) =>
      of === iso3 && value !== null ? [{ year, value, projected }] : [],
  );
const rowIn = (id: string, iso3: string, year: number) => inYear(rowsOf(id, iso3), year);
const lastOwn = (id: string, iso3: string, year: number): number => last(rowsOf(id, iso3), year) ?? 0;

type Made = Pick<Figure, 'value' | 'counted' | 'coverage' | 'projected'>;

function declared(id: string, members: readonly string[], year: number): Made {
  const isMean = id === 'alpha.rate';
  const countries = members.map((iso3) => ({
    iso3,
    figures: rowsOf(id, iso3),
    divisors: isMean ? rowsOf(PEOPLE, iso3) : [],
  }));
  return isMean ? expectedMean(countries, year) : expectedSum(countries, year);
}

function ordered(method: string, id: string, members: readonly string[], year: number): Made {
  const present = members.flatMap((iso3) => rowIn(id, iso3, year) ?? []);
  const values = present.map(({ value }) => value).toSorted((a, b) => a - b);
  const half = values.length / 2;
  const middle = Number.isInteger(half) ? [values[half - 1], values[half]] : [values[half - 0.5]];
  const median = total(middle.map((value) => value ?? 0)) / middle.length;
  return {
    value: method === 'median' ? median : method === 'min' ? Math.min(...values) : Math.max(...values),
    counted: present.length,
    coverage: present.length / members.length,
    projected: present.some(({ projected }) => projected),
  };
}

function expectedFigures(id: string, method: string, members: readonly string[]): Figure[] {
  const made = (year: number): Made =>
    method === 'declared' ? declared(id, members, year) : ordered(method, id, members, year);
  return Array.from({ length: 30 }, (_, at) => 1995 + at).flatMap((year) => {
    const { value, counted, coverage, projected } = made(year);
    if (counted === 0) return [];
    const rounded = Math.round(coverage * 1e6) / 1e6;
    const percent = Number(rounded.toFixed(6).slice(0, 4));
    const isCovered = method === 'declared' ? rounded * 3 >= 2 : counted * 3 >= members.length * 2;
    const judged = { value: isCovered ? value : null, reason: isCovered ? null : 'coverage' };
    return [{ year, members: members.length, counted, coverage: percent, projected, ...judged }];
  });
}

test('figures, marks and price are those of the naive computation', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(OUTPUT, 'alpha.rate', 'alpha.deaths'),
      fc.constantFrom('declared', 'median', 'min', 'max'),
      fc.subarray(
        COUNTRIES.slice(1).map(({ iso3 }) => iso3),
        { minLength: 3 },
      ),
      fc.constantFrom('null', 'omit'),
      async (id, method, asked, missing) => {
        const members = asked.toSorted();
        const query =
          `indicator=${id}&group=${asked.toReversed()}&aggregate=${method}&missing=${missing}` +
          '&fields=group,year,value,members,counted,coverage,projected,reason';
        const told = await ask(`${query}&dry_run=true`);
        const { status, text, json, headers } = await ask(query);
        expect([status, text]).toEqual([200, text]);
        const figures = expectedFigures(id, method, members);
        expect(json.data).toEqual(figures.map((figure) => ({ group: members.join(), ...figure })));
        const isMean = method === 'declared' && id === 'alpha.rate';
        const price = total(figures.map(({ counted }) => counted * (isMean ? 2 : 1)));
        expect(headers['x-credits-charged']).toBe(String(Math.max(1, price)));
        expect(told.json.data).toMatchObject({ price: Math.max(1, price), rows: figures.length });
        expect(json.meta).toMatchObject({ aggregate: method, groups: [{ group: members.join(), members }] });
      },
    ),
    { numRuns: 120 },
  );
});

/** The sum of a declared group divided by another sum, over the members that have both; null where none has. */
function dividedFigure(id: string, word: string, group: string, year: number) {
  const members = GROUPS[group] ?? [];
  const both = members.filter((iso3) => rowIn(id, iso3, year) && rowIn(PEOPLE, iso3, year));
  if (both.length === 0) return [];
  const totalOf = (of: string) => total(both.map((iso3) => rowIn(of, iso3, year)?.value ?? 0));
  const held = total(both.map((iso3) => Math.abs(rowIn(id, iso3, year)?.value ?? 0)));
  const known = members.filter((iso3) => rowsOf(id, iso3).length > 0);
  const whole = total(known.map((iso3) => Math.abs(lastOwn(id, iso3, year))));
  const share = Math.round((whole > 0 ? held / whole : both.length / known.length) * 1e6) / 1e6;
  const columns = GROUP_FIGURES[id]?.groups[group];
  const isWithheld = columns?.reason?.[columns.year.indexOf(year)] === 'withheld';
  const [by, power] = [totalOf(PEOPLE), word === 'per_head' ? { [OUTPUT]: 1e6 }[id] : 1];
  const quotient = power === undefined ? totalOf(id) / by / 1e3 : (totalOf(id) / by) * power;
  const unfit = by === 0 ? 'zero' : by < 0 ? 'not_positive' : null;
  const reason = isWithheld ? 'withheld' : share * 3 < 2 ? 'coverage' : unfit;
  const isProjected = both.some(
    (iso3) => rowIn(id, iso3, year)?.projected || rowIn(PEOPLE, iso3, year)?.projected,
  );
  const coverage = isWithheld ? 0 : Number(share.toFixed(6).slice(0, 4));
  return [
    {
      group: `@${group}`,
      year,
      value: reason === null ? quotient : null,
      projected: isProjected,
      counted: both.length,
      coverage,
      reason,
    },
  ];
}

test.each([
  [OUTPUT, 'per_head'],
  ['alpha.deaths', 'per_head'],
  [OUTPUT, `per:${PEOPLE}`],
])('figures of groups of %s under %s are sums over the members that have both', async (id, word) => {
  const reasons = new Set<string | null>();
  for (const group of Object.keys(GROUPS)) {
    const query = `indicator=${id}&countries=@${group}&aggregate=declared&transform=${word}`;
    const fields = 'fields=group,year,value,projected,counted,coverage,reason';
    const { text, json, headers } = await ask(`${query}&${fields}`);
    const years = Array.from({ length: 30 }, (_, at) => 1995 + at);
    const expected = years.flatMap((year) => dividedFigure(id, word, group, year));
    expect([text, json.data]).toEqual([text, expected]);
    expect(headers['x-credits-charged']).toBe(String(2 * expected.length));
    for (const { reason } of expected) reasons.add(reason);
    const changes = (await ask(`${query},change:1&fields=year,value,reason`)).json.data;
    for (const { year, value, reason } of changes) {
      const [now, base] = [year, year - 1].map((one) => expected.find((figure) => figure.year === one));
      const hasSame = now?.counted === base?.counted;
      if (reason === null) expect(value).toBe((now?.value ?? Number.NaN) - (base?.value ?? Number.NaN));
      else if (typeof now?.value === 'number' && typeof base?.value === 'number')
        expect(reason).toBe('coverage');
      if (reason === null) expect(hasSame).toBe(true);
    }
  }
  expect(reasons).toContain(null);
  expect(reasons).toContain('coverage');
  expect(reasons).toContain('withheld');
});

test('stands beside countries and groups that are asked for', async () => {
  const { json, headers } = await ask(
    `indicator=${OUTPUT}&group=KEN,USA,BRA&countries=KEN,@wb-sub-saharan-africa&from=2004&to=2004`,
  );
  expect(json.data.map(({ iso3, group }: Record<string, string | null>) => iso3 ?? group)).toEqual([
    ...['@wb-sub-saharan-africa', 'BRA,KEN,USA', 'KEN'],
  ]);
  const counted = expectedFigures(OUTPUT, 'declared', ['BRA', 'KEN', 'USA']).find(
    ({ year }) => year === 2004,
  )?.counted;
  expect(headers['x-credits-charged']).toBe(String(2 + (counted ?? 0)));
});

test.each([
  [`indicator=${OUTPUT}&group=KEN,USA`, 'value_error', 'group'],
  [`indicator=${OUTPUT}&group=KEN,KEN,USA,ZZZ`, 'value_error', 'group'],
  [`indicator=${OUTPUT}&group=KEN,USA,BRA&transform=growth`, 'value_error', 'group'],
  [`indicator=${OUTPUT}&group=KEN,USA,BRA&layout=wide`, 'value_error', 'group'],
  [`indicator=${OUTPUT}&countries=@eu&aggregate=median`, 'value_error', 'aggregate'],
  ['indicator=alpha.unread&group=KEN,USA,BRA', 'transform_undefined', 'aggregate'],
  ['indicator=alpha.unread&group=KEN,USA,BRA&aggregate=max', 'transform_undefined', 'aggregate'],
])('%s is refused, free', async (query, type, parameter) => {
  const { status, json, headers } = await ask(query);
  expect([status, json.detail[0].type, json.detail[0].loc[1]]).toEqual([422, type, parameter]);
  expect(headers['x-credits-charged']).toBe('0');
});

test.each(['gamma.open', 'gamma.sum'])(
  'a divisor of %s that may not be exported refuses its figure, not a median',
  async (id) => {
    const path = `indicator=${id}&group=KEN,USA,BRA`;
    expect(codeOf(await ask(path))).toBe('export_restricted');
    expect((await ask(`${path}&aggregate=median`)).status).toBe(200);
  },
);
