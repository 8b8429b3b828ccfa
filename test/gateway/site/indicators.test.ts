/** `/indicators`, suggestions, topics and providers: lists that say the same as the API. */
import { readdirSync } from 'node:fs';
import { Script } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { ASSET_PATHS } from '../../../gateway/site/assets.ts';
import { EDITION_GROUPS, PEOPLE, startDerived } from '../derived-world.ts';
import { choicesIn, linksOf, listedBy, sectionOf, textOf } from './page-text.ts';
import { testService } from './test-service.ts';

const service = testService();
const { service: derived } = await startDerived();

/** Ids of a list of the API, in its order. */
const idsAt = async (path: string): Promise<string[]> =>
  (await service.get(path)).json.data.map(({ id }: { id: string }) => id);

describe('/indicators', () => {
  test.each(['', 'topic=health', 'provider=beta&sort=coverage', 'sort=latest'])(
    'lists what the API lists: %s',
    async (query) => {
      const { json } = await service.get(`/v1/indicators?limit=50&${query}`);
      const { status, text } = await service.get(`/indicators?${query}`);
      expect(status).toBe(200);
      expect(listedBy(text)).toEqual(json.data.map(({ id }: { id: string }) => id));
      expect(textOf(text)).toContain(`${json.meta.total} indicator`);
    },
  );

  test.each([
    ['life', ''],
    ['life expec', ''],
    ['how long do people live', ''],
    ['CO2', ''],
    ['mortality of children', '&topic=health&provider=alpha'],
    ['life expectancy', '&provider=beta'],
    ['life expectancy', '&sort=latest'],
    ['life', '&topic=health&sort=coverage'],
  ])('lists what the search finds: %s%s', async (q, filters) => {
    const words = `q=${encodeURIComponent(q)}`;
    const found = await idsAt(`/v1/search?limit=50&${words}`);
    const passing = await idsAt(`/v1/indicators?${filters}`);
    const expected = filters.includes('sort=')
      ? passing.filter((id) => found.includes(id))
      : found.filter((id) => passing.includes(id));
    const { text } = await service.get(`/indicators?${words}${filters}`);
    expect(expected.length).toBeGreaterThan(0);
    expect(listedBy(text)).toEqual(expected);
  });

  test('says so where it finds only what is close', async () => {
    for (const [q, match] of [
      ['life expectancy', 'good'],
      ['expectancy of pensioners', 'weak'],
    ]) {
      const path = `?q=${encodeURIComponent(String(q))}`;
      expect([q, (await service.get(`/v1/search${path}`)).json.meta.match]).toEqual([q, match]);
      const { text } = await service.get(`/indicators${path}`);
      expect([q, textOf(text).includes('Nothing measures exactly this')]).toEqual([q, match === 'weak']);
    }
  });

  test('links to the countries and groups in the words, and opens a hit with those countries and that year', async () => {
    const { text } = await service.get(
      '/indicators?q=Life+expectancy+in+Kenya+and+the+USA,+Nordic+countries,+2020',
    );
    expect(linksOf(sectionOf(text, 'places'))).toEqual([
      '/countries/KEN',
      '/countries/USA',
      '/countries?group=nordic',
    ]);
    const hit = linksOf(text).find((href) => href.startsWith('/indicators/alpha.life_expectancy')) ?? '';
    expect(hit).toBe('/indicators/alpha.life_expectancy?countries=KEN,USA&year=2020');
    const { text: page } = await service.get(hit);
    expect(linksOf(/<ul class="chips".*?<\/ul>/s.exec(page)?.[0] ?? '')).toContain('/countries/KEN');
    const { text: early } = await service.get('/indicators?q=life+expectancy+1750');
    expect(linksOf(early)).toContain('/indicators/alpha.life_expectancy');
  });

  test('opens a hit with a group as one place where the series aggregates, and draws its figures', async () => {
    const [group] = EDITION_GROUPS.groups;
    const words = `${PEOPLE} Sub-Saharan Africa Kenya`;
    const { text } = await derived.get(`/indicators?q=${encodeURIComponent(words)}`);
    const hit = linksOf(text).find((link) => link.startsWith(`/indicators/${PEOPLE}?`)) ?? '';
    expect(hit).toBe(`/indicators/${PEOPLE}?countries=KEN,@${group?.id}&aggregate=declared`);
    const { text: page } = await derived.get(hit);
    expect(textOf(sectionOf(page, 'lines'))).toContain(group?.name);
    const { json } = await derived.get(`/suggest?q=${encodeURIComponent(words)}`);
    expect(json.map(({ path }: Suggestion) => path)).toContain(hit);
  });

  test('leads on where it finds nothing', async () => {
    for (const [query, link] of [
      ['q=expuctencys', '/indicators?q=expectancy'],
      ['q=Kenya', '/countries/KEN'],
      ['q=USA,+Kenya,+Brazil+and+Albania', '/countries/ALB'],
      ['q=ivory+c', '/countries/CIV'],
      ['q=scandina', '/countries?group=scandinavia'],
      ['q=life+expectancy&provider=gamma', '/indicators?q=life+expectancy'],
      ['q=zzz', '/topics/health'],
      ['q=1990', '/topics/health'],
      ['q=of+the', '/topics/health'],
      ['q=%3F!', '/topics/health'],
      [`q=${'zx'.repeat(400)}`, '/topics/health'],
      ['topic=astrology', '/topics/health'],
    ]) {
      const { status, text } = await service.get(`/indicators?${query}`);
      expect([query, status, listedBy(text)]).toEqual([query, 200, []]);
      expect([query, linksOf(text)]).toEqual([query, expect.arrayContaining([link])]);
    }
  });

  test('counts what each choice leaves, and takes choices away by links', async () => {
    for (const query of ['q=life', 'q=emissions+of+households', 'q=zzz', '']) {
      for (const chosen of [
        {},
        { provider: 'beta' },
        { topic: 'health' },
        { provider: 'beta', topic: 'economy' },
      ]) {
        const asked = `/indicators?${query}&${new URLSearchParams(chosen)}`;
        const { text } = await service.get(asked);
        for (const [name, value, count] of choicesIn(text)) {
          const { text: after } = await service.get(
            `/indicators?${query}&${new URLSearchParams({ ...chosen, [name]: value })}`,
          );
          expect([asked, value, count]).toEqual([asked, value, listedBy(after).length]);
        }
        const shown = choicesIn(text).map(([, value]) => value);
        expect([asked, shown]).toEqual([asked, expect.arrayContaining(Object.values(chosen))]);
      }
    }
    const { text } = await service.get('/indicators?q=life&provider=beta');
    const removals = linksOf(/<ul class="removals".*?<\/ul>/s.exec(text)?.[0] ?? '');
    expect(removals).toEqual(['/indicators?provider=beta', '/indicators?q=life']);
  });

  test('shows what was searched for as text', async () => {
    const { text } = await service.get('/indicators?q=%3Cb%3E%22x%22');
    expect(text).not.toContain('<b>');
    expect(textOf(text)).toContain('for “<b>"x"”');
    expect(textOf(text)).toContain('No indicator found');
  });

  test('has no page behind the last one', async () => {
    const { status, text } = await service.get('/indicators?page=99');
    expect(status).toBe(404);
    expect(linksOf(text)).toContain('/indicators');
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
});

interface Suggestion {
  path: string;
  name: string;
  note: string;
}

const offered = async (q: string): Promise<Suggestion[]> =>
  (await service.get(`/suggest?q=${encodeURIComponent(q)}`)).json;

describe('/suggest', () => {
  test('offers the indicators that the search finds, in its order', async () => {
    const { data } = (await service.get('/v1/indicators')).json;
    const words = new Set<string>(data.flatMap(({ name }: { name: string }) => name.split(/\W+/)));
    const typed = [...words].filter(({ length }) => length > 2).slice(0, 40);
    for (const word of [...typed, 'how long do people li', 'lifespa', 'childern mortal']) {
      const shown = (await offered(word)).filter(({ path }) => path.startsWith('/indicators/'));
      const found = await idsAt(`/v1/search?q=${encodeURIComponent(word)}&limit=8`);
      expect([word, shown.map(({ path }) => path)]).toEqual([word, found.map((id) => `/indicators/${id}`)]);
    }
  });

  test.each([
    ['ken', 'KEN'],
    ['Ivory Coast', 'CIV'],
    ['ivory c', 'CIV'],
    ['cote d', 'CIV'],
    ['US', 'USA'],
    ['america', 'USA'],
    ['states', 'USA'],
    ['Deutsch', 'DEU'],
    ['kosova', 'XKX'],
    ['life expectancy in Kenya', 'KEN'],
  ])('offers countries by the beginning of any usual name: %s', async (typed, iso3) => {
    const { data } = (await service.get('/v1/countries')).json;
    const { name } = data.find((country: { iso3: string }) => country.iso3 === iso3);
    expect(await offered(typed)).toContainEqual({ path: `/countries/${iso3}`, name, note: 'country' });
  });

  test.each(['Nordics', 'nordic', 'the EU', 'ASEA', 'opec+'])('offers groups: %s', async (typed) => {
    const [group] = (await offered(typed)).filter(({ note }) => note === 'group');
    const { data } = (await service.get('/v1/groups')).json;
    const { id } = data.find(({ name }: { name: string }) => name === group?.name) ?? {};
    expect(group?.path).toBe(`/countries?group=${id}`);
  });

  test('opens an indicator with the country and the year that were typed', async () => {
    const paths = (await offered('Kenya life expectancy 2020')).map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining(['/countries/KEN', '/indicators/alpha.life_expectancy?countries=KEN&year=2020']),
    );
  });

  test('offers to a form what it can send, of its kind alone', async () => {
    const values = async (q: string, only: string): Promise<string[]> =>
      (await service.get(`/suggest?q=${q}&only=${only}`)).json.map(({ value }: { value: string }) => value);
    expect(await values('keny', 'countries')).toEqual(['KEN']);
    expect(await values('keny', 'places')).toEqual(['KEN']);
    expect(await values('ivory c', 'places')).toEqual(['CIV']);
    expect(await values('euro', 'countries')).toEqual([]);
    const ids = await values('life', 'indicators');
    expect(ids).toContain('alpha.life_expectancy');
    for (const id of ids) expect((await service.get(`/indicators/${id}`)).status).toBe(200);
    expect((await service.get('/suggest?q=a&only=nothing')).status).toBe(422);
  });

  test('offers nothing for nothing', async () => {
    for (const typed of ['', '  ', '%', '??']) expect(await offered(typed)).toEqual([]);
    expect((await service.get('/suggest')).json).toEqual([]);
  });
});

test('the scripts of the site have at most 20 KB together, as they are sent', async () => {
  const folder = new URL('../../../gateway/site/', import.meta.url);
  const scripts = readdirSync(folder).filter((name) => name.endsWith('.js'));
  expect(scripts.length).toBeGreaterThan(1);
  let bytes = 0;
  for (const name of scripts) {
    const path = Object.values(ASSET_PATHS).find((one) => one.includes(`/${name.replace('.js', '-')}`)) ?? '';
    const { text } = await service.get(path);
    expect(() => new Script(text)).not.toThrow();
    bytes += text.length;
  }
  expect(bytes).toBeLessThanOrEqual(20_000);
});
