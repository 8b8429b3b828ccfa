/** `/indicators/{indicator_id}`: figures, prices and texts are those of the API. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Service, type TestKey } from '../../service.ts';
import { linksOf, rowsOf, sectionOf, structuredOf, textOf, valuesOf } from './page-text.ts';

const PUBLIC_URL = 'https://almanac.test';

let service: Service;
let key: TestKey;
beforeAll(async () => {
  service = await Service.start({ settings: { PUBLIC_URL } });
  key = await service.account();
});
afterAll(() => service.stop());

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
      const { json } = await service.get(`/v1/rankings/${id}`, { key: key.key });
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

describe('what it costs', () => {
  test('is what the API charges', async () => {
    const html = sectionOf(await page('alpha.life_expectancy'), 'use');
    const priced = async (path: string) => (await service.get(path, { key: key.key })).headers;
    const calls = [
      '/v1/data?indicator=alpha.life_expectancy&countries=KEN,DEU,USA',
      '/v1/rankings/alpha.life_expectancy',
      '/v1/data?indicator=alpha.life_expectancy',
    ];
    const charged: number[] = [];
    for (const call of calls) charged.push(Number((await priced(call))['x-credits-charged']));
    expect(valuesOf(html.slice(0, html.indexOf('</table>')))).toEqual(charged);
  });

  test('stands above calls that work, for the countries that are chosen', async () => {
    const html = sectionOf(await page('alpha.life_expectancy?countries=usa,KE'), 'use');
    const urls = new Set(
      [...textOf(html).matchAll(/https:\/\/almanac\.test(\/[^\s"]+)/g)].map(([, path]) => path),
    );
    const call = '/v1/data?indicator=alpha.life_expectancy&countries=USA,KEN';
    expect([...urls]).toEqual([call, `${call}&format=csv`]);
    for (const path of urls) expect((await service.get(String(path), { key: key.key })).status).toBe(200);
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
  test('are sources, doubts, and the same statistic from others', async () => {
    const html = await page('alpha.life_expectancy');
    expect(linksOf(sectionOf(html, 'source'))).toContain('https://example.org/a?b=ü');
    expect(textOf(sectionOf(html, 'source'))).toContain('Registers of 東京');
    expect(textOf(sectionOf(html, 'compare'))).toContain('Decided: Counted twice, at the source.');
    expect(linksOf(sectionOf(html, 'twins'))).toEqual(['/indicators/beta.life_expectancy']);
    expect(textOf(sectionOf(html, 'twins'))).toContain('Typically 0.1% apart in 2 common countries');
  });

  test('are projections', async () => {
    expect(textOf(sectionOf(await page('alpha.population_total'), 'compare'))).toContain(
      'Years after 2020 are projections',
    );
  });

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

  test('is a description for search engines', async () => {
    const described = structuredOf(await page('alpha.life_expectancy'));
    expect(described).toMatchObject({
      '@type': 'Dataset',
      name: 'Life expectancy (Alpha Institute)',
      url: `${PUBLIC_URL}/indicators/alpha.life_expectancy`,
      license: 'https://creativecommons.org/licenses/by/4.0/',
      temporalCoverage: '2019/2021',
      variableMeasured: { unitText: 'years' },
    });
    expect(String(described.description).length).toBeGreaterThan(50);
  });

  test('are links that lead somewhere', async () => {
    const html = await page('alpha.life_expectancy');
    const own = linksOf(html).filter((href) => /^\/(v1|indicators|topics|providers)\b/.test(href));
    for (const href of new Set(own)) expect([href, (await service.get(href)).status]).toEqual([href, 200]);
  });
});

describe('an indicator that there is not', () => {
  test('is a page that says so', async () => {
    const { status, text } = await service.get('/indicators/alpha.nothing%3Cb%3E');
    expect(status).toBe(404);
    expect(text).not.toContain('<b>');
    expect(textOf(text)).toContain('alpha.nothing<b>');
  });
});

describe('every page', () => {
  test('of an indicator can be shown, whatever figures it has', async () => {
    const { json } = await service.get('/v1/indicators');
    for (const { id, name } of json.data) expect(textOf(await page(id))).toContain(name);
  });
});
