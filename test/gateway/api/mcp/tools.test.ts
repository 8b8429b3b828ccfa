/** Each tool over both revisions: figures with all that belongs to them, and refusals with all that helps. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { tokensAtMost } from '../../../../gateway/api/mcp/answer.ts';
import type { Tool } from '../../../../gateway/api/mcp/tool.ts';
import { TOOLS } from '../../../../gateway/api/mcp/tools/registry.ts';
import { COUNTRIES } from '../../fixture-data.ts';
import { useService } from '../../service.ts';
import { CALLS, RESEARCH_CALLS } from './calls.ts';
import { call, REVISIONS, send, type ToolResult } from './mcp-client.ts';

const service = await useService();
const key = await service.account({ credits: 100_000 });

const LIFE = 'alpha.life_expectancy';
const ask = (name: string, args: Record<string, unknown>) => call(service, name, args, { key });

const leaves = (value: unknown): (string | number | boolean)[] => {
  if (value === null || value === undefined) return [];
  if (typeof value === 'object') return Object.values(value).flatMap(leaves);
  return [value as string | number | boolean];
};

/** What the text lacks of the structured content. */
const missingIn = ({ text, structured }: ToolResult): unknown[] =>
  leaves(structured).filter((leaf) => {
    const shown = typeof leaf === 'string' ? leaf : JSON.stringify(leaf);
    return !text.includes(shown) && !text.includes(JSON.stringify(leaf));
  });

describe.each(REVISIONS)('revision %s', (revision) => {
  test('lists the tools, read-only, with schemas', async () => {
    const { body } = await send(service, 'tools/list', {}, { revision });
    expect(body.result.tools.map(({ name }: { name: string }) => name)).toEqual(
      TOOLS.map(({ name }) => name),
    );
    for (const tool of body.result.tools) {
      expect(tool.annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false });
      expect(tool.outputSchema.type).toBe('object');
    }
    const forModels = body.result.tools.map(
      ({ name, title, description, inputSchema, outputSchema }: Tool) => ({
        name,
        title,
        description,
        inputSchema,
        outputSchema,
      }),
    );
    expect(tokensAtMost(JSON.stringify(forModels))).toBeLessThan(8_000);
    expect(tokensAtMost(JSON.stringify(body.result))).toBeLessThan(10_500);
  });

  test.each(Object.entries(CALLS))('%s answers in text and structure alike', async (name, args) => {
    const result = await call(service, name, args, { key, revision });
    expect(result.isError).toBe(false);
    expect(result.structured.outcome).toBe('answer');
    expect(missingIn(result)).toEqual([]);
  });
});

describe('answers', () => {
  test('that are asked for again are the same, and cost as much', async () => {
    const args = { indicators: [LIFE], countries: ['Kenya', 'Peru'], from: 2001, to: 2004 };
    const first = await ask('get_data', args);
    const again = await ask('get_data', args);
    const { charged, balance } = first.structured.credits;
    expect(charged).toBeGreaterThan(0);
    expect(again.structured).toEqual({
      ...first.structured,
      credits: { charged, balance: balance - charged },
    });
  });

  const ajv = new Ajv2020({ strict: false, validateFormats: false });

  test.each(TOOLS.map((tool) => [tool.name, tool] as const))('%s keeps to its schema', async (name, tool) => {
    const listed = ajv.compile(tool.outputSchema);
    const whole = ajv.compile(z.toJSONSchema(tool.operation.answer, { io: 'output' }));
    const validate = (answer: unknown) => {
      expect(listed(answer), JSON.stringify(listed.errors)).toBe(true);
      expect(whole(answer), JSON.stringify(whole.errors)).toBe(true);
    };
    const places = { countries: ['Korea', 'Mars', 'Kenya'], country: 'Korea' };
    const sound = CALLS[name] ?? RESEARCH_CALLS[name] ?? {};
    const asked = [
      sound,
      {
        ...CALLS[name],
        ...Object.fromEntries(Object.entries(places).filter(([member]) => member in (CALLS[name] ?? {}))),
      },
      { nonsense: 1 },
    ];
    for (const args of asked) {
      validate((await ask(name, args)).structured);
    }
    const { structured, isError } = await call(service, name, sound);
    expect(isError).toBe(tool.priceText !== 'free');
    validate(structured);
  });

  test.each(Object.keys(CALLS).filter((name) => !/find|describe/.test(name)))(
    '%s gives each figure with unit, year, status, source, licence and edition',
    async (name) => {
      const { structured, figures: held } = await ask(name, CALLS[name] ?? {});
      expect(structured.edition).toBe(service.snapshots.current()?.id);
      const figures = structured.verdicts ?? held;
      expect(figures.length).toBeGreaterThan(0);
      for (const figure of figures) {
        expect(figure).toMatchObject({ year: expect.any(Number), unit: expect.any(String) });
        expect(figure).toHaveProperty('status');
        expect(figure.projected).toBe(false);
        const about = structured.series.find(
          (one: { indicator: string }) => one.indicator === figure.indicator,
        );
        expect(about).toMatchObject({
          source: expect.stringMatching(/./),
          licence: expect.stringMatching(/./),
        });
      }
    },
  );

  test('without years, the newest measured figure is given, and forecasts only when asked for', async () => {
    const args = { indicators: ['alpha.population_total'], countries: ['Kenya'] };
    const newest = (await ask('get_data', args)).figures;
    expect(newest).toMatchObject([{ year: 2020, value: 51, projected: false }]);
    const later = (await ask('get_data', { ...args, from: 2021 })).figures;
    expect(later.map(({ year, projected }) => [year, projected])).toEqual([
      [2021, true],
      [2022, true],
      [2023, true],
    ]);
  });

  test('a ranking states year, direction and total, from either end', async () => {
    const first = (await ask('rank_countries', { indicator: 'alpha.child_mortality', limit: 1 })).structured;
    expect(first).toMatchObject({
      year: 2016,
      ranked: 3,
      direction: expect.stringContaining('lower is better'),
    });
    const last = (
      await ask('rank_countries', { indicator: 'alpha.child_mortality', limit: 1, order: 'last' })
    ).figures;
    expect(last).toMatchObject([{ iso3: 'AFG', rank: 3, value: 68 }]);
  });

  test('a comparison takes the newest year that all countries have', async () => {
    const args = { indicators: ['alpha.life_expectancy'], countries: ['DEU', 'KEN', 'USA'] };
    const { structured, figures } = await ask('compare_countries', args);
    expect(structured.years).toEqual([{ indicator: LIFE, year: 2021 }]);
    expect(figures.map(({ iso3 }) => iso3)).toEqual(['DEU', 'KEN', 'USA']);
    const apart = (
      await ask('compare_countries', {
        indicators: ['beta.co2_emissions', 'beta.life_expectancy'],
        countries: ['CIV', 'DEU'],
      })
    ).structured;
    expect(apart.years).toEqual([
      { indicator: 'beta.co2_emissions', year: 2005 },
      { indicator: 'beta.life_expectancy', year: 2000 },
    ]);
  });

  test('display-only figures are ranked, but not handed out, and it says why', async () => {
    const { structured, isError } = await ask('get_data', {
      indicators: ['gamma.reserves'],
      countries: ['BRA'],
    });
    expect(isError).toBe(true);
    expect(structured.error).toMatchObject({
      code: 'export_restricted',
      message: expect.stringContaining('Gamma terms'),
    });
    expect((await ask('rank_countries', { indicator: 'gamma.reserves' })).figures).toHaveLength(2);
  });
});

describe('search and fetch, as hosts for research ask for them', () => {
  test.each(REVISIONS)(
    'give results to cite and documents, as objects and as JSON text: %s',
    async (revision) => {
      const found = await call(service, 'search', { query: 'lifespan in Kenya' }, { revision });
      expect(JSON.parse(found.text)).toEqual(found.structured);
      expect(Object.keys(found.structured)).toEqual(['results']);
      const [first] = found.structured.results;
      expect(first).toEqual({
        id: LIFE,
        title: expect.stringContaining('Life expectancy'),
        match: 'good',
        url: `https://almanac.test/indicators/${LIFE}`,
      });
      const { text, structured } = await call(service, 'fetch', { id: first.id }, { revision });
      expect(JSON.parse(text)).toEqual(structured);
      expect(structured).toMatchObject({ id: LIFE, title: first.title, url: first.url });
      expect((await service.get(new URL(structured.url).pathname)).status).toBe(200);
      expect(Object.values(structured.metadata).every((value) => typeof value === 'string')).toBe(true);
    },
  );

  test('a document says what it is, under which terms and how figures are had, and holds none of them', async () => {
    for (const { record } of (await service.snapshots.current()?.wholeCatalogue())?.indicators.values() ??
      []) {
      const { structured, isError } = await call(service, 'fetch', { id: record.id });
      expect([record.id, isError]).toEqual([record.id, false]);
      const { text, metadata } = structured;
      for (const said of [record.name, record.attribution, record.licence, record.description ?? ''])
        expect(text).toContain(said);
      expect(text).toContain(
        record.access_tier === 'open' ? `get_data with indicators ["${record.id}"]` : 'not exported',
      );
      expect(metadata).toMatchObject({ licence: record.licence, edition: service.snapshots.current()?.id });
    }
  });

  test('what is not held is no result, and no document', async () => {
    expect((await call(service, 'search', { query: 'unicorn sightings' })).structured).toEqual({
      results: [],
    });
    const { text, isError } = await call(service, 'fetch', { id: 'alpha.life' });
    expect([isError, text]).toEqual([true, expect.stringContaining('Nothing may be estimated')]);
  });
});

describe('refusals', () => {
  const refused = async (name: string, args: Record<string, unknown>) => {
    const { structured } = await ask(name, args);
    expect(structured.outcome).toBe('refused');
    for (const { message } of [structured, ...structured.refusals])
      expect(message).toContain('Nothing may be estimated');
    expect(JSON.stringify(structured.figures ?? structured.verdicts)).toBe('[]');
    return structured.refusals;
  };

  test('no data names the nearest years and forbids estimates', async () => {
    const args = { indicators: [LIFE], countries: ['Germany'], from: 2005, to: 2010 };
    const [refusal] = await refused('get_data', args);
    expect(refusal).toMatchObject({ reason: 'no_data', nearest_years: [2019] });
    expect(refusal.message).toContain('Nothing may be estimated');
  });

  test('forecasts are no measured figures', async () => {
    const [refusal] = await refused('get_data', {
      indicators: ['beta.forecast_only'],
      countries: ['Brazil'],
    });
    expect(refusal).toMatchObject({ reason: 'no_data', nearest_years: [] });
    expect(refusal.message).toContain('2030 to 2032');
  });

  test('an unknown indicator is not held', async () => {
    const [refusal] = await refused('get_data', { indicators: ['alpha.life'], countries: ['Kenya'] });
    expect(refusal).toMatchObject({ reason: 'not_held', similar_indicators: expect.arrayContaining([LIFE]) });
  });

  test.each([
    ['Korea', 'ambiguous_place'],
    ['the Congo', 'ambiguous_place'],
    ['Keny', 'unknown_place'],
    ['Mars', 'unknown_place'],
    ['Soviet Union', 'not_a_country'],
    ['Georgia', 'not_held'],
    ['Micronesia', 'not_held'], // and not the region of that name
  ])('%s is refused as %s by every tool that takes places', async (place, reason) => {
    for (const name of ['get_data', 'compare_countries', 'rank_countries']) {
      const { countries: _countries, ...rest } = CALLS[name] ?? {};
      expect(await refused(name, { ...rest, countries: [place] })).toMatchObject([{ reason }]);
    }
    expect(await refused('country_profile', { country: place })).toMatchObject([{ reason }]);
    const claims = [{ indicator: LIFE, country: place, year: 2020, value: 1 }];
    expect(await refused('verify_claims', { claims })).toMatchObject([{ reason }]);
  });

  test('a group stands for its members, and has no figure', async () => {
    const countries = ['European Union', 'Germany', '@eu'];
    const { structured, figures } = await ask('get_data', { indicators: [LIFE], countries });
    expect(structured.groups).toMatchObject([{ group: '@eu', members: ['DEU'] }]);
    expect(figures).toMatchObject([{ iso3: 'DEU' }]);
    expect(structured.message).toContain('A group has no figure of its own');
    expect(await refused('country_profile', { country: '@eu' })).toMatchObject([{ reason: 'not_a_country' }]);
  });

  test('nothing is found where nothing is held', async () => {
    const { structured } = await ask('find_indicators', { query: 'unicorn sightings' });
    expect(structured).toMatchObject({ outcome: 'refused', match: 'none', indicators: [] });
  });

  test('a claim that cannot be judged leaves the others judged, in any order, and a cursor is of its claims', async () => {
    const claim = { indicator: LIFE, country: 'Kenya', year: 2020, value: '62.5' };
    const unread = { ...claim, value: 'about sixty' };
    const claims = [unread, claim, { ...claim, country: 'Mars' }, { ...claim, indicator: 'a,b' }];
    const { structured } = await ask('verify_claims', { claims });
    expect(structured.verdicts).toMatchObject([
      { verdict: 'unreadable', unread: [{ part: 'value' }] },
      { verdict: 'exact', number: 62.5, digits: 3, deviation_percent: 0 },
      { verdict: 'unreadable' },
    ]);
    expect(structured.refusals).toMatchObject([{ reason: 'unknown_place', place: 'Mars' }]);
    expect(structured.credits.charged).toBe(1);
    const groups = Array.from({ length: 50 }, () => ({ ...claim, country: 'Mars' }));
    const { structured: cut } = await ask('verify_claims', { claims: [...groups.slice(0, 49), claim] });
    expect([cut.outcome, cut.refusals.length]).toEqual(['refused', 20]);
    expect(cut.page).toMatchObject({ first: 1, last: 20, of: 50 });
    for (const other of [cut.page.cursor, '1', '']) {
      const refused = await ask('verify_claims', { claims: groups, cursor: other });
      expect(refused.structured.error).toMatchObject({
        code: 'invalid_arguments',
        message: expect.stringContaining('cursor'),
      });
    }
  });

  test('a search gives codes of the places and the years in its words, which other tools take', async () => {
    const query = 'lifespan in Kenya and the European Union, 2020';
    const { structured } = await ask('find_indicators', { query });
    expect(structured).toMatchObject({ match: 'good', places: ['KEN', '@eu'], years: [2020] });
    const [{ indicator, why }] = structured.indicators;
    expect([indicator, why]).toEqual([LIFE, ['lifespan']]);
    const figures = await ask('get_data', {
      indicators: [indicator],
      countries: structured.places,
      from: 2020,
      to: 2020,
    });
    expect(figures.structured.outcome).toBe('answer');
  });

  test('a bad argument is named, with what was expected', async () => {
    const { structured } = await ask('get_data', { indicators: 5, as_of: 'soon', limit: 3 });
    expect(structured.error.code).toBe('invalid_arguments');
    for (const name of ['indicators', 'as_of', 'limit']) expect(structured.error.message).toContain(name);
  });

  test.each([
    [
      'get_data',
      { indicator: LIFE, country: 'Kenya', year: 2020 },
      ['indicators', 'countries', '`from` and `to`'],
    ],
    ['rank_countries', { indicators: LIFE, top: 5, orders: 'first' }, ['indicator', 'limit', 'order']],
    ['country_profile', { iso3: 'KEN', topics: 'health' }, ['country', 'topic']],
    [
      'compare_countries',
      { series: LIFE, places: 'KEN', zzzzzzzz: 1 },
      ['indicators', 'countries', 'max_credits'],
    ],
  ])('parameters of %s that do not exist are told with those that do', async (name, args, meant) => {
    const { structured, isError } = await ask(name, args);
    expect(isError).toBe(true);
    expect(structured.message).toContain('estimate none');
    for (const part of meant) expect(structured.error.message).toContain(part);
    for (const sent of Object.keys(args))
      expect(structured.error.message).toContain(`${sent}: there is no such parameter`);
  });

  test('of very many parameters that do not exist, ten are told and the others counted', async () => {
    const sent = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`none${at}`, at]));
    const { structured } = await ask('find_indicators', { query: 'life', ...sent });
    expect(structured.error.message).toContain('none9: there is no such parameter');
    expect(structured.error.message).toContain('4990 more do not exist');
    expect(structured.error.message).not.toContain('none10:');
  });

  test.each(['KEN, DEU', 'Kenya; Germany', 'Kenya\nGermany', '["KEN", "DEU"]'])(
    'a text stands for the list that it holds: %s',
    async (countries) => {
      for (const name of ['get_data', 'compare_countries']) {
        const listed = await ask(name, { ...CALLS[name], countries: ['Kenya', 'Germany'] });
        const { structured } = await ask(name, { ...CALLS[name], indicators: LIFE, countries });
        const { credits: _credits, ...answer } = listed.structured;
        expect(structured).toMatchObject(answer);
      }
    },
  );

  test('claims may be sent as JSON text', async () => {
    const { claims } = CALLS.verify_claims ?? {};
    const { structured } = await ask('verify_claims', { claims: JSON.stringify(claims) });
    expect(structured.verdicts).toEqual((await ask('verify_claims', { claims })).structured.verdicts);
  });
});

/** Calls of a tool with half a character as each of its arguments, alone and in a list, and within each claim. */
function halves({ name, inputSchema }: (typeof TOOLS)[number]): Record<string, unknown>[] {
  const half = '\ud800';
  const [claim] = [CALLS[name]?.claims ?? []].flat();
  const claims = Object.keys(claim ?? {}).map((member) => ({
    claims: [{ ...(claim as object), [member]: half }],
  }));
  return [
    ...Object.keys(inputSchema.properties as object).flatMap((argument) => [
      { ...CALLS[name], [argument]: half },
      { ...CALLS[name], [argument]: [half] },
    ]),
    ...claims,
  ];
}

test.each(TOOLS.map((tool) => [tool.name, tool] as const))(
  'half a character in an argument of %s is no internal error',
  async (name, tool) => {
    for (const args of halves(tool)) {
      const { structured } = await ask(name, args);
      expect([args, structured.error?.code]).not.toEqual([args, 'internal_error']);
    }
  },
);

test('models are instructed in the handshake and in /llms.txt alike', async () => {
  const { body } = await send(service, 'server/discover');
  const { text } = await service.get('/llms.txt');
  for (const sentence of body.result.instructions.split('\n')) expect(text).toContain(`- ${sentence}`);
  expect(text).toContain('https://almanac.test/mcp');
});

test('every country is understood by its name and code', async () => {
  for (const { iso3, name } of COUNTRIES)
    for (const place of [iso3, iso3.toLowerCase(), name, name.toUpperCase(), ` ${name} `]) {
      const { structured } = await ask('country_profile', { country: place, topic: 'none' });
      expect(structured.refusals, place).toMatchObject([{ reason: 'no_data', place: iso3 }]);
    }
});
