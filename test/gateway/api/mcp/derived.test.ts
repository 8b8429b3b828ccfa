/** Tools with `transform` and `groups`: the figures, prices and ledger entries of the same questions over HTTP. */
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { GROUPS, linear, OUTPUT, PEOPLE, relative, startDerived } from '../../derived-world.ts';
import { call } from './mcp-client.ts';

const { service, owner: tools } = await startDerived();
const http = await service.account({ credits: 1_000_000_000 });

const series = fc.constantFrom(OUTPUT, PEOPLE, 'alpha.deaths');
const country = fc.constantFrom('KEN', 'DEU', 'USA', 'BRA', 'ALB', 'ZWE');
const group = fc.constantFrom(...Object.keys(GROUPS).map((id) => `@${id}`));
const year = fc.integer({ min: 2000, max: 2015 });
const ofCountries = fc.oneof(linear, relative, fc.constantFrom('per_head', 'per_head,growth:2'));

interface Question {
  tool: string;
  args: Record<string, unknown>;
  /** Calls that together answer the same. */
  paths: string[];
}

const placeLists = fc.oneof(
  fc.record({
    places: fc.uniqueArray(country, { minLength: 2, maxLength: 4 }),
    transform: ofCountries,
    more: fc.constant({}),
  }),
  fc.record({
    places: fc.tuple(group, country).map((parts): string[] => parts),
    transform: fc.option(fc.oneof(linear, relative), { nil: undefined }),
    more: fc.constant({ groups: 'figure' }),
  }),
);
const question = fc
  .tuple(fc.constantFrom('get_data', 'compare_countries', 'rank_countries'), series, placeLists, year)
  .map(([tool, id, { places, transform, more }, at]): Question => {
    const under = transform === undefined ? '' : `&transform=${transform}`;
    const aggregate = 'groups' in more ? '&aggregate=declared' : '';
    const sent = { ...more, ...(transform !== undefined && { transform }), countries: places };
    const data = (codes: readonly string[]) =>
      `/v1/data?indicator=${id}&countries=${codes}&from=${at}&to=${at}&missing=omit${under}${aggregate}`;
    const whole = data(places).replace('indicator=', 'indicators=');
    if (tool === 'get_data')
      return { tool, args: { ...sent, indicators: [id], from: at, to: at }, paths: [whole] };
    if (tool === 'compare_countries')
      return { tool, args: { ...sent, indicators: [id], year: at }, paths: [whole] };
    const ofGroups = places.filter((code) => code.startsWith('@'));
    const ranking = `/v1/rankings/${id}?year=${at}${under}`;
    const paths = ofGroups.length === 0 ? [ranking] : [ranking, data(ofGroups)];
    return { tool, args: { ...sent, indicator: id, year: at }, paths };
  })
  // People are not divided by themselves.
  .filter(
    ({ args }) => !(JSON.stringify(args).includes(PEOPLE) && String(args.transform).startsWith('per_head')),
  );

const figuresIn = (rows: Record<string, unknown>[], places: unknown) =>
  rows
    .map(({ iso3, group: code, value }) => [code ?? iso3, value] as const)
    .filter(([place, value]) => value !== null && (places as string[]).includes(String(place)))
    .sort();

const ledgerOf = async ({ account_id }: typeof tools) =>
  (await service.accounts.ledger(account_id, { limit: 500 })).filter(({ delta }) => delta < 0);

test('derived figures and those of groups, their prices and ledger entries are those of HTTP', async () => {
  let given = 0;
  await fc.assert(
    fc.asyncProperty(question, async ({ tool, args, paths }) => {
      const { structured, figures } = await call(service, tool, args, { key: tools });
      const answers = [];
      for (const path of paths) answers.push(await service.get(path, { key: http.key }));
      expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 200));
      const charged = answers.reduce((sum, { headers }) => sum + Number(headers['x-credits-charged']), 0);
      expect(structured.credits.charged, paths.join(' ')).toBe(charged);
      const rows = answers.flatMap(({ json }) => json.data);
      expect(figuresIn(figures as unknown as Record<string, unknown>[], args.countries)).toEqual(
        figuresIn(rows, args.countries),
      );
      given += figures.length;
      const sources = answers.flatMap(({ json }) => json.meta.derivation?.inputs ?? []);
      const named = structured.series.map(({ indicator }: { indicator: string }) => indicator);
      if (figures.length > 0)
        expect(named).toEqual(expect.arrayContaining(sources.map(({ id }: { id: string }) => id)));
    }),
    { numRuns: 120 },
  );
  expect(given).toBeGreaterThan(100);
  expect(await service.balance(tools)).toBe(await service.balance(http));
  const [byTool, byPath] = [await ledgerOf(tools), await ledgerOf(http)];
  const namesOf = (entries: typeof byTool) =>
    new Set(
      entries.map(({ cause }) => JSON.stringify((cause as { indicators?: string[] }).indicators?.toSorted())),
    );
  expect(namesOf(byTool)).toEqual(namesOf(byPath));
});

const SAHARA = '@wb-sub-saharan-africa';

test('an answer says how figures were derived, in which unit, and of whom a group consists', async () => {
  const args = { indicators: [OUTPUT], countries: [SAHARA, 'KEN'], from: 2000, groups: 'figure' };
  const { structured, figures } = await call(
    service,
    'get_data',
    { ...args, transform: ['growth'] },
    { key: tools },
  );
  expect(structured).toMatchObject({ transform: ['growth:1'], formula: '100 × ((v(t) − v(t−1)) ÷ v(t−1))' });
  expect(structured.groups).toMatchObject([{ group: SAHARA, members: ['CIV', 'KEN', 'ZWE'] }]);
  expect(structured.message).toContain('coverage');
  const ofGroup = figures.filter(({ iso3 }) => iso3 === null);
  expect(ofGroup.length).toBeGreaterThan(0);
  for (const figure of ofGroup)
    expect(figure).toMatchObject({ group: SAHARA, method: 'sum', unit: '%', coverage: expect.any(Number) });
  const { groups: _, ...members } = args;
  const plain = await call(service, 'get_data', members, { key: tools });
  expect(new Set(plain.figures.map(({ iso3 }) => iso3))).toEqual(new Set(['CIV', 'KEN', 'ZWE']));
  expect(plain.structured.message).toContain('`groups: figure`');
});

test('a missing figure says why, and forbids estimates', async () => {
  const args = { indicators: [OUTPUT], countries: ['KEN'], from: 2004, to: 2004, transform: 'index:2003' };
  for (const [tool, more] of [
    ['get_data', args],
    ['compare_countries', { ...args, countries: ['KEN', 'DEU'], year: 2004 }],
    ['rank_countries', { ...args, indicator: OUTPUT, year: 2004 }],
  ] as const) {
    const { from, to, indicators, year: at, indicator, ...rest } = more as Record<string, unknown>;
    const years = tool === 'get_data' ? { from, to, indicators } : { year: at };
    const which = tool === 'rank_countries' ? { indicator } : { indicators };
    const { structured } = await call(service, tool, { ...rest, ...years, ...which }, { key: tools });
    const [{ reason, message }] = structured.refusals;
    expect([tool, reason]).toEqual([tool, 'no_data']);
    expect(message).toContain('`break` (the series breaks between the years');
    expect(message).toContain('Nothing may be estimated');
  }
});

test.each([
  ['growth', 'alpha.rate', 'growth is undefined for alpha.rate|it is defined for'],
  ['share:nowhere', OUTPUT, 'no group has the id nowhere'],
  ['double', OUTPUT, 'a transform is one of change:N'],
  ['per_head', 'alpha.rate', 'alpha.rate|it is defined for'],
])(
  'transform %s of %s is refused, says for what it would be right, and costs nothing',
  async (transform, id, parts) => {
    const asked = { transform, countries: ['KEN', 'DEU'], indicators: [id] };
    for (const [tool, args] of [
      ['get_data', asked],
      ['compare_countries', asked],
      ['rank_countries', { transform, indicator: id }],
    ] as const) {
      const before = await service.balance(tools);
      const { structured, isError } = await call(service, tool, args, { key: tools });
      expect([tool, isError, structured.error?.code]).toEqual([tool, true, 'invalid_arguments']);
      for (const part of parts.split('|'))
        expect(structured.error.message.replace('growth:1', 'growth')).toContain(part);
      expect(await service.balance(tools)).toBe(before);
    }
  },
);

test('statuses of a series that is kept are read once, and are those of its file', async () => {
  const observations = service.snapshots.current()?.observations;
  if (observations === undefined) throw new Error('nothing is served');
  const read = vi.spyOn(observations, 'details');
  const years = fc.tuple(year, year).map(([one, other]) => [Math.min(one, other), Math.max(one, other)]);
  const filters = fc.tuple(fc.uniqueArray(country, { minLength: 1, maxLength: 6 }), years);
  let count = 0;
  await fc.assert(
    fc.asyncProperty(series, filters, async (id, [places, [from, to]]) => {
      await observations.prepare(id);
      read.mockClear();
      const filter = { countries: places.toSorted(), from, to };
      const statuses = await observations.statuses(id, filter);
      expect(read).not.toHaveBeenCalled();
      const details = await observations.details(id, filter);
      const held = details.flatMap(({ iso3, year, status }) => (status ? [[`${iso3} ${year}`, status]] : []));
      expect([...statuses]).toEqual(held);
      count += held.length;
    }),
    { numRuns: 40 },
  );
  expect(count).toBeGreaterThan(40);
  read.mockRestore();
});
