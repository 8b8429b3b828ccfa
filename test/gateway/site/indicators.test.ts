/** `/indicators`, suggestions, topics and providers: lists that say the same as the API. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { linksOf, sectionOf, textOf } from './page-text.ts';
import { testService } from './test-service.ts';

const service = testService();

/** Ids of the indicators that a page lists, in its order. */
const listedBy = (html: string): string[] =>
  [...html.matchAll(/<h3><a href="\/indicators\/([^"]+)"/g)].map(([, id = '']) => id);

describe('/indicators', () => {
  test.each([
    '',
    'q=life',
    'q=life+expectancy',
    'topic=health',
    'provider=beta&sort=coverage',
    'sort=latest',
    'q=mortality&topic=health&provider=alpha&sort=topic',
  ])('lists what the API finds: %s', async (query) => {
    const { json } = await service.get(`/v1/indicators?limit=50&${query}`);
    const { status, text } = await service.get(`/indicators?${query}`);
    expect(status).toBe(200);
    expect(listedBy(text)).toEqual(json.data.map(({ id }: { id: string }) => id));
    expect(textOf(text)).toContain(`${json.meta.total} indicator`);
  });

  test('names unit, provider, years, countries and licence of each', async () => {
    const { text } = await service.get('/indicators?q=child');
    expect(textOf(text)).toContain('Child mortality Deaths before the age of five');
    expect(textOf(text)).toContain('per 1,000 Alpha Institute 2015–2016 3 countries CC BY 4.0');
    const { text: display } = await service.get('/indicators?q=reserves');
    expect(textOf(display)).toContain('Gamma terms, display only');
  });

  test('counts what each choice would leave, and takes choices away by links', async () => {
    const { text } = await service.get('/indicators?q=life&provider=beta');
    const removals = linksOf(/<ul class="removals".*?<\/ul>/s.exec(text)?.[0] ?? '');
    expect(removals).toEqual(['/indicators?provider=beta', '/indicators?q=life']);
    for (const [, value, count] of text.matchAll(/<option value="([a-z]+)"[^>]*>[^<]* \((\d+)\)</g)) {
      const filter = ['alpha', 'beta', 'gamma'].includes(String(value))
        ? `provider=${value}`
        : `provider=beta&topic=${value}`;
      const { json } = await service.get(`/v1/indicators?q=life&${filter}`);
      expect([value, Number(count)]).toEqual([value, json.meta.total]);
    }
  });

  test('shows what was searched for as text', async () => {
    const { text } = await service.get('/indicators?q=%3Cb%3E%22x%22');
    expect(text).not.toContain('<b>');
    expect(textOf(text)).toContain('for “<b>"x"”');
    expect(textOf(text)).toContain('No indicator has all of this');
  });

  test('has no page behind the last one', async () => {
    const { status, text } = await service.get('/indicators?page=99');
    expect(status).toBe(404);
    expect(linksOf(text)).toContain('/indicators');
  });

  test('refuses an order that there is not', async () => {
    const { status, headers } = await service.get('/indicators?sort=colour');
    expect([status, headers['content-type']]).toEqual([422, 'text/html; charset=utf-8']);
  });
});

describe('topics', () => {
  test('are those of the API, in their order', async () => {
    const { json } = await service.get('/v1/topics');
    const { text } = await service.get('/topics');
    const slugs = [...text.matchAll(/<h2[^>]*><a href="\/topics\/([^"]+)">/g)].map(([, slug]) => slug);
    expect(slugs).toEqual(json.data.map(({ slug }: { slug: string }) => slug));
  });

  test('list their indicators in the curated order', async () => {
    const { json } = await service.get('/v1/indicators?topic=health&sort=topic');
    const { text } = await service.get('/topics/health');
    expect(listedBy(text)).toEqual(json.data.map(({ id }: { id: string }) => id));
    const featured = linksOf(sectionOf(text, 'featured')).map((href) => href.split('/').at(-1));
    expect(featured).toEqual(['alpha.child_mortality', 'alpha.life_expectancy']);
  });

  test('that there are not are a page that says so', async () => {
    for (const path of ['/topics/astrology', '/topics/health?page=2', '/providers/nobody']) {
      const { status, headers, text } = await service.get(path);
      expect([path, status, headers['content-type']]).toEqual([path, 404, 'text/html; charset=utf-8']);
      expect(textOf(text)).toContain('There is no');
    }
  });
});

describe('providers', () => {
  test('are listed with licence and freshness', async () => {
    const { text } = await service.get('/providers');
    const { json } = await service.get('/v1/meta/freshness');
    for (const { provider_id, name, licence } of json.data) {
      expect(linksOf(text)).toContain(`/providers/${provider_id}`);
      expect(textOf(text)).toContain(name);
      expect(textOf(text)).toContain(licence);
    }
  });

  test('show terms, freshness and their indicators', async () => {
    const { text } = await service.get('/providers/beta');
    const { json } = await service.get('/v1/indicators?provider=beta');
    expect(listedBy(text)).toEqual(json.data.map(({ id }: { id: string }) => id));
    expect(textOf(sectionOf(text, 'terms'))).toContain('Büro “Beta” — 100 % público, 東京');
    expect(linksOf(sectionOf(text, 'topics'))).toContain('/indicators?provider=beta&topic=economy');
  });

  test('whose figures are for display only say so', async () => {
    const { text } = await service.get('/providers/gamma');
    expect(textOf(sectionOf(text, 'terms'))).toContain('display only');
  });
});

interface Suggestion {
  path: string;
  name: string;
}

const offered = async (q: string): Promise<Suggestion[]> =>
  (await service.get(`/suggest?q=${encodeURIComponent(q)}`)).json;

describe('/suggest', () => {
  test('offers the indicators that the catalogue finds, in its order', async () => {
    const { data } = (await service.get('/v1/indicators')).json;
    const words = new Set<string>(data.flatMap(({ name }: { name: string }) => name.split(/\W+/)));
    for (const word of [...words].filter(({ length }) => length > 2).slice(0, 40)) {
      const found = (await service.get(`/v1/indicators?q=${encodeURIComponent(word)}&limit=8`)).json.data;
      const shown = (await offered(word)).filter(({ path }) => path.startsWith('/indicators/'));
      expect([word, shown.map(({ path }) => path)]).toEqual([
        word,
        found.map(({ id }: { id: string }) => `/indicators/${id}`),
      ]);
    }
  });

  test('offers countries by the beginning of each word of their names', async () => {
    expect(await offered('ken')).toContainEqual({ path: '/countries/KEN', name: 'Kenya', note: 'country' });
  });

  test('offers nothing for nothing', async () => {
    expect(await offered('')).toEqual([]);
    expect((await service.get('/suggest')).json).toEqual([]);
  });
});

test('the script of the site has at most 15 KB', () => {
  const script = readFileSync(new URL('../../../gateway/site/island.js', import.meta.url));
  expect(script.length).toBeLessThanOrEqual(15_000);
});
