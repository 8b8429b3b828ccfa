/** `/indicators/{indicator_id}`: figures, prices and texts are those of the API. */

import { describe, expect, test } from 'vitest';
import type { ObservationRow } from '../../../data/schema/records.ts';
import { readFrozenCall } from '../../../gateway/api/core/feeds.ts';
import {
  columnsOf,
  linksOf,
  rowsOf,
  sectionOf,
  tableIn,
  textOf,
  valuesByYear,
  valuesOf,
} from './page-text.ts';
import { chartsIn, mapIn } from './read-charts.ts';
import { testService } from './test-service.ts';

const PUBLIC_URL = 'https://almanac.test';

const service = testService({ settings: { PUBLIC_URL } });

const page = async (path: string): Promise<string> => {
  const { status, text } = await service.get(`/indicators/${path}`);
  expect([path, status]).toEqual([path, 200]);
  return text;
};

interface RankingRow {
  rank: number | null;
  name: string;
  value: number | null;
  ci_lo: number | null;
  ci_hi: number | null;
}

describe('the ranking', () => {
  test('of each indicator has the figures of the API, and names who has none', async () => {
    const { json: all } = await service.get('/v1/indicators');
    for (const { id, no_rank } of all.data) {
      if (no_rank) continue;
      const { json } = await service.buy(`/v1/rankings/${id}`);
      const held = (json.data as RankingRow[]).filter(({ value }) => value !== null);
      const html = sectionOf(await page(id), 'ranking');
      const table = /<tbody>.*<\/tbody>/s.exec(html)?.[0] ?? '';
      const bounded = held.some(({ ci_lo }) => ci_lo !== null);
      const figures = held.flatMap(({ value, ci_lo, ci_hi }) => (bounded ? [value, ci_lo, ci_hi] : [value]));
      expect([id, valuesOf(table)]).toEqual([id, figures.filter((one) => one !== null)]);
      expect(rowsOf(html).map(([rank, name]) => [rank, name?.replace(' projected', '')])).toEqual(
        held.map(({ rank, name }) => [String(rank ?? '–'), name]),
      );
      for (const { name, value } of json.data as RankingRow[])
        if (value === null && held.length > 0) expect(textOf(html)).toContain(name);
    }
  });

  test('marks projections, and has no ranks where there are none', async () => {
    expect(textOf(sectionOf(await page('beta.forecast_only'), 'ranking'))).toContain('projected');
    const codes = sectionOf(await page('alpha.regime_code'), 'ranking');
    expect(/<thead>.*<\/thead>/.exec(codes)?.[0]).not.toContain('Rank');
    expect(textOf(codes)).toContain('Figures, 2011');
    expect(rowsOf(codes).map(([name]) => name)).toEqual(['Germany', 'Zimbabwe']);
  });
});

describe('a year that is chosen', () => {
  test('drives map, ranking, title, links to pictures and the code of the frame together', async () => {
    const html = await page('alpha.life_expectancy?year=2020');
    expect(/<title>(.*?)<\/title>/.exec(html)?.[1]).toContain('by country, 2020, ');
    expect(html).toContain('/indicators/alpha.life_expectancy/card.png?year=2020"');
    for (const heading of ['map', 'ranking'])
      expect(html).toMatch(new RegExp(`<h2 id="${heading}">\\w+, 2020<`));
    expect(linksOf(sectionOf(html, 'map')).filter((href) => href.includes('/map.'))).toEqual(
      ['png', 'svg'].map((kind) => `/indicators/alpha.life_expectancy/map.${kind}?year=2020`),
    );
    expect(textOf(sectionOf(html, 'embed'))).toContain('/embed/indicators/alpha.life_expectancy?year=2020"');
    const { json } = await service.buy('/v1/rankings/alpha.life_expectancy?year=2020');
    const held = (json.data as RankingRow[]).filter(({ value }) => value !== null);
    const ranking = sectionOf(html, 'ranking');
    expect(rowsOf(ranking).map(([rank, name]) => [rank, name])).toEqual(
      held.map(({ rank, name }) => [String(rank), name]),
    );
    expect(textOf(ranking)).toContain(`Rank of ${json.meta.ranked} Country`);
  });

  test('has figures in four digits, so that all years give no exact series', async () => {
    const html = await page('alpha.life_expectancy?year=2020&countries=BRA');
    expect(rowsOf(sectionOf(html, 'ranking')).length).toBeGreaterThan(1);
    expect(valuesOf(sectionOf(html, 'ranking'))).toEqual([]);
  });

  test('has a file of the classes of all years, which are those of the map of each', async () => {
    const { json, text } = await service.get('/indicators/alpha.life_expectancy/classes.json');
    expect(json.years).toEqual([2019, 2020, 2021]);
    for (const [at, year] of json.years.entries()) {
      const svg = chartsIn(await page(`alpha.life_expectancy?year=${year}`), 'map')[0] ?? '';
      const order = [...svg.matchAll(/<g class="([sd]\d|none)"/g)].map(([, className]) => className);
      for (const [iso3, { className }] of mapIn(svg))
        expect([iso3, year, json.classes[iso3]?.[at]]).toEqual([
          ...[iso3, year, className === 'none' ? '-' : String(order.indexOf(className))],
        ]);
    }
    expect(text).not.toContain('.');
    expect((await service.get('/indicators/gamma.reserves/classes.json')).status).toBe(404);
  });

  test('says of each country its value and its rank in the field, where somebody points at it', async () => {
    const html = await page('alpha.life_expectancy?year=2020');
    const ranked = rowsOf(sectionOf(html, 'ranking'));
    const shapes = [...mapIn(chartsIn(html, 'map')[0] ?? '').values()];
    for (const [rank, name, value] of ranked) {
      const lines = [`${name}: ${Number(value)} years`, `Rank ${rank} of ${ranked.length}`];
      expect(shapes.map(({ title }) => title)).toContain(lines.join('\n'));
    }
  });

  test('of a series for display has a map, and a link to the year whose figures may be shown', async () => {
    const ranking = sectionOf(await page('gamma.reserves?year=2018&countries=KEN'), 'ranking');
    expect(ranking).not.toContain('<table');
    expect(linksOf(ranking)).toEqual(['/indicators/gamma.reserves?countries=KEN']);
  });
});

describe('the ranking of a group', () => {
  const ranking = async (query: string): Promise<string> =>
    sectionOf(await page(`alpha.life_expectancy?${query}`), 'ranking');

  test('has its members alone, with their ranks among all, beside a map on which the others are pale', async () => {
    const all = rowsOf(await ranking('year=2020'));
    const html = await page('alpha.life_expectancy?year=2020&group=african-union');
    const section = sectionOf(html, 'ranking');
    expect(rowsOf(section)).toEqual(all.filter(([, name]) => ['Kenya', 'Zimbabwe'].includes(name ?? '')));
    expect(textOf(section)).toContain(`Rank of ${all.length} `);
    const shapes = chartsIn(html, 'map')[0] ?? '';
    expect([/#DEU" class="pale"/.test(shapes), /#KEN" class="pale"/.test(shapes)]).toEqual([true, false]);
    const kept = linksOf(section).filter((href) => href.includes('sort='));
    for (const href of kept) expect(href).toContain('year=2020&group=african-union&sort=');
    expect(kept.length).toBeGreaterThan(2);
  });

  test('that is a continent stands beside a map of it', async () => {
    const boxOf = async (query: string) =>
      / viewBox="([^"]+)"/.exec(chartsIn(await page(`alpha.life_expectancy?${query}`), 'map')[0] ?? '')?.[1];
    expect(await boxOf('group=un-africa')).toBe('400 100 232 272');
    expect(await boxOf('group=oecd')).toBe(await boxOf(''));
  });

  test('is said to be unknown where there is none', async () => {
    expect(textOf(await ranking('group=un-moon'))).toContain('There is no group “un-moon”.');
  });

  test('is sorted by each column in both directions, and says by which', async () => {
    const rows = rowsOf(await ranking('year=2020'));
    for (const [sort, at, isText] of [
      ['rank', 0, false],
      ['name', 1, true],
      ['value', 2, false],
    ] as const) {
      const compare = (a: string[], b: string[]): number =>
        isText ? (a[at] ?? '').localeCompare(b[at] ?? '', 'en') : Number(a[at]) - Number(b[at]);
      const [up, down] = [await ranking(`year=2020&sort=${sort}`), await ranking(`year=2020&sort=-${sort}`)];
      expect(rowsOf(up)).toEqual(rows.toSorted(compare));
      expect(rowsOf(down)).toEqual(rows.toSorted((a, b) => compare(b, a)));
      expect(/aria-sort="(\w+)"><a class="sort" id="sort-(\w+)"/.exec(up)?.slice(1)).toEqual([
        'ascending',
        sort,
      ]);
      expect(/aria-sort="(\w+)"><a class="sort" id="sort-(\w+)"/.exec(down)?.slice(1)).toEqual([
        'descending',
        sort,
      ]);
    }
    expect((await service.get('/indicators/alpha.life_expectancy?sort=colour')).status).toBe(422);
  });
});

test('the map says the figures of another year that is chosen, in the same classes', async () => {
  const html = sectionOf(await page('alpha.life_expectancy?year=2020'), 'map');
  const opened = sectionOf(await page('alpha.life_expectancy'), 'map');
  expect(textOf(html)).toContain('Map, 2020');
  expect(html).toMatch(/<title>Kenya: /);
  const legend = (one: string) => textOf(/<ul class="legend">.*?<\/ul>/s.exec(one)?.[0] ?? '');
  expect(legend(html)).toEqual(legend(opened));
  expect(html).toContain('<option selected>2020</option>');
  expect([...html.matchAll(/<option[^>]*>(\d+)/g)].map(([, year]) => year)).toEqual(['2021', '2020', '2019']);
});

describe('the lines', () => {
  const lines = async (query: string): Promise<string> =>
    sectionOf(await page(`alpha.life_expectancy${query}`), 'lines');
  const drawn = (html: string): string[] =>
    linksOf(/<ul class="chips".*?<\/ul>/s.exec(html)?.[0] ?? '').filter((href) =>
      href.startsWith('/countries/'),
    );

  test('are of well-known countries, or of those that are chosen', async () => {
    expect(drawn(await lines(''))).toEqual(['/countries/KEN', '/countries/DEU', '/countries/USA']);
    expect(drawn(await lines('?countries=usa,DE'))).toEqual(['/countries/USA', '/countries/DEU']);
    expect(drawn(await lines('?countries=USA&add=KEN'))).toEqual(['/countries/USA', '/countries/KEN']);
  });

  test('are chosen and removed by links and a form', async () => {
    const html = await lines('?countries=USA,KEN&year=2020');
    expect(linksOf(html)).toContain('/indicators/alpha.life_expectancy?year=2020&countries=USA');
    expect(html).toContain('<input type="hidden" name="countries" value="USA,KEN">');
    expect(html).toContain('data-suggest="countries"');
    expect(textOf(html)).toContain('2 of at most 6 are shown');
    for (const [name, code] of [
      ['Ivory Coast', 'CIV'],
      ['the United States', 'USA'],
      ['kenya', 'KEN'],
      ['DE', 'DEU'],
    ])
      expect(drawn(await lines(`?countries=BRA&add=${name}`))).toEqual([
        '/countries/BRA',
        `/countries/${code}`,
      ]);
  });

  test('are at most six, and a page says what it leaves out', async () => {
    const html = await lines('?countries=AFG,ALB,BRA,DEU,KEN,USA,ZWE,QQ');
    expect(drawn(html)).toHaveLength(6);
    expect(textOf(html)).toContain('There is no country “QQ”.');
    expect(textOf(html)).toContain('Only 6 places are drawn');
    expect(html).not.toContain('name="add"');
    expect(textOf(html)).toContain('6 are shown, the most there can be');
    expect(textOf(await lines('?countries=KEN&add=Kongo'))).toContain('There is no country “Kongo”. Is ');
  });

  test('stand as a table of the figures of the API, for an open series', async () => {
    for (const query of ['countries=DEU,KEN', 'countries=KEN', 'countries=DEU,ZWE,KEN&year=2020']) {
      const html = await page(`alpha.life_expectancy?${query}`);
      const codes = (new URLSearchParams(query).get('countries') ?? '').split(',');
      const table = tableIn(sectionOf(html, 'lines'), 'lines-table');
      const { data } = (await service.buy(`/v1/data?indicator=alpha.life_expectancy&countries=${codes}`))
        .json;
      expect(valuesOf(table)).toEqual(valuesByYear(data, codes));
      expect(textOf(table)).toContain('Life expectancy, years, by year');
      const isShown = (code: string) =>
        data.some(({ iso3, value }: ObservationRow) => iso3 === code && value !== null);
      expect(columnsOf(table)).toHaveLength(1 + codes.filter(isShown).length);
    }
  });

  test('are of the years and on the scale that are asked for, or say why not', async () => {
    const asked = async (query: string): Promise<string> => lines(`?countries=DEU,KEN&${query}`);
    const all = (await service.buy('/v1/data?indicator=alpha.life_expectancy&countries=DEU,KEN')).json.data;
    for (const [from, to] of [
      [2020, 2021],
      [2021, 2021],
      [1900, 2019],
    ] as const) {
      const html = await asked(`from=${from}&to=${to}&scale=log`);
      const rows = all.filter(({ year }: { year: number }) => year >= from && year <= to);
      expect(valuesOf(tableIn(html, 'lines-table'))).toEqual(valuesByYear(rows, ['DEU', 'KEN']));
      expect(html).not.toContain('class="problem"');
      expect(html).toContain('<option value="log" selected>');
      const removals = linksOf(html).filter((href) => href.startsWith('/indicators/alpha.life_expectancy?'));
      expect(removals).toHaveLength(2);
      for (const href of removals) expect(href).toContain(`from=${from}&to=${to}&scale=log`);
      for (const href of linksOf(html).filter((path) => path.includes('/lines.svg')))
        expect((await service.get(href)).text).toContain('<svg');
    }
    const [straight, bent] = await Promise.all(['from=2019', 'from=2019&scale=log'].map(asked));
    const path = (html = ''): string | undefined =>
      /<g class="c0"[^>]*><path d="([^"]+)" fill="none"/.exec(html)?.[1];
    expect(path(bent)).not.toBe(path(straight));
    expect(textOf(await asked('from=2021&to=2020'))).toContain(
      'The year 2021 is after 2020: all years are shown.',
    );
    const zero = sectionOf(await page('gamma.zero?countries=ALB&scale=log'), 'lines');
    expect(textOf(zero)).toContain('A log scale needs figures above 0, and Albania has others');
    expect((await service.get('/indicators/gamma.zero/lines.svg?countries=ALB&scale=log')).status).toBe(404);
  });

  test('are a picture alone where figures are for display only', async () => {
    const html = await page('gamma.reserves?countries=KEN,DEU,USA');
    expect(html).toContain('id="lines-picture-title"');
    expect(html).not.toMatch(/Show as table|data-reading|lines-table/);
  });
});

describe('what it costs', () => {
  test('is what the API charges', async () => {
    const html = sectionOf(await page('alpha.life_expectancy'), 'use');
    const priced = async (path: string) => (await service.buy(path)).headers;
    const calls = [
      '/v1/data?indicator=alpha.life_expectancy&countries=KEN,DEU,USA',
      '/v1/rankings/alpha.life_expectancy',
      '/v1/data?indicator=alpha.life_expectancy',
      '/v1/files/alpha.life_expectancy.parquet',
    ];
    const charged: number[] = [];
    for (const call of calls) charged.push(Number((await priced(call))['x-credits-charged']));
    expect(valuesOf(html.slice(0, html.indexOf('</table>')))).toEqual(charged);
  });

  test('stands above links to feeds of the same calls, which may be frozen', async () => {
    const html = sectionOf(await page('alpha.life_expectancy?countries=usa,KE'), 'use');
    const feeds = linksOf(html).filter((href) => href.startsWith('/account/feeds?'));
    const calls = feeds.map((href) => new URL(href, PUBLIC_URL).searchParams.get('call') ?? '');
    expect(calls).toEqual([
      '/v1/data?indicator=alpha.life_expectancy&countries=USA,KEN',
      '/v1/rankings/alpha.life_expectancy',
      '/v1/data?indicator=alpha.life_expectancy',
    ]);
    expect(calls.map((call) => readFrozenCall(call)?.reading.ok)).toEqual([true, true, true]);
  });

  test('stands above calls that work, for the countries that are chosen', async () => {
    const html = sectionOf(await page('alpha.life_expectancy?countries=usa,KE'), 'use');
    const urls = new Set(
      [...textOf(html).matchAll(/https:\/\/almanac\.test(\/[^\s"]+)/g)].map(([, path]) => path),
    );
    const call = '/v1/data?indicator=alpha.life_expectancy&countries=USA,KEN';
    expect([...urls]).toEqual([call, `${call}&format=csv`]);
    for (const path of urls) expect((await service.buy(String(path))).status).toBe(200);
    expect(textOf(html)).toContain('United States, Kenya: all years');
  });

  test('and every call are absent where figures are for display only, and the page says why', async () => {
    const html = await page('gamma.reserves');
    expect(textOf(sectionOf(html, 'use'))).toContain('Gamma terms');
    expect(html).not.toMatch(/\/v1\/data|\/v1\/rankings|format=csv|distribution/);
    expect(valuesOf(sectionOf(html, 'ranking'))).toContain(12);
    expect(valuesOf(html)).not.toContain(9);
  });
});

describe('what is told beside the figures', () => {
  test('are citations, as the API gives them', async () => {
    const html = sectionOf(await page('alpha.life_expectancy'), 'cite');
    for (const file of linksOf(html)) {
      const { status, text } = await service.get(file);
      expect(status).toBe(200);
      const shown = textOf(html).replaceAll(/\s/g, '');
      expect(shown).toContain(
        (file.endsWith('.bib') ? text : JSON.stringify(JSON.parse(text))).replaceAll(/\s/g, ''),
      );
    }
    expect(linksOf(html)).toHaveLength(2);
    const [apa, ris] = [textOf(html), textOf(html)];
    expect(apa).toContain('Alpha Institute, Registers of 東京, & Census (2026). Life expectancy (snapshot ');
    expect(ris).toContain('TY - DATA');
  });

  test('are frames for other sites', async () => {
    const html = sectionOf(await page('alpha.life_expectancy?countries=KEN,USA&year=2020'), 'embed');
    const sources = [...textOf(html).matchAll(/<iframe src="https:\/\/almanac\.test([^"]+)"/g)].map(
      ([, source = '']) => source.replaceAll('&amp;', '&'),
    );
    const frame = '/embed/indicators/alpha.life_expectancy?';
    expect(sources).toEqual(
      ['year=2020', 'picture=bars&year=2020', 'picture=lines&countries=KEN,USA'].map(
        (query) => frame + query,
      ),
    );
    for (const source of sources) {
      const { status, headers, text } = await service.get(source);
      expect([source, status]).toEqual([source, 200]);
      expect(headers['content-security-policy']).toContain('frame-ancestors *');
      const [script = ''] = /<script src="([^"]+)" defer>/.exec(text)?.slice(1) ?? [];
      expect((await service.get(script)).text).toContain('svg.chart');
      const [link = ''] = linksOf(text).filter((href) => href.includes('/indicators/'));
      const kept = new URL(source, PUBLIC_URL).searchParams;
      kept.delete('picture');
      expect(new URL(link).searchParams.toString()).toBe(kept.toString());
      expect(textOf(text)).toContain('Source: Alpha Institute');
    }
  });

  test('are links that lead somewhere', async () => {
    const html = await page('alpha.life_expectancy');
    const own = linksOf(html).filter((href) =>
      /^\/(v1|indicators|topics|providers|countries|compare)\b/.test(href),
    );
    for (const href of new Set(own)) expect([href, (await service.get(href)).status]).toEqual([href, 200]);
  });
});

test('an indicator that there is not is a page that says so', async () => {
  const { status, text } = await service.get('/indicators/alpha.nothing%3Cb%3E');
  expect(status).toBe(404);
  expect(text).not.toContain('<b>');
  expect(textOf(text)).toContain('alpha.nothing<b>');
});
