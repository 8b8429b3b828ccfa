/** Pages of countries: every figure is that of the API, and nothing else is shown. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CountryDetail, TopicItem } from '../../../data/schema/records.ts';
import { Service, type TestKey } from '../service.ts';
import { figuresIn } from './read-page.ts';

let service: Service;
let key: TestKey;
let codes: string[];
beforeAll(async () => {
  service = await Service.start();
  key = await service.account({ credits: 10_000 });
  codes = (await service.get('/v1/countries')).json.data.map(({ iso3 }: { iso3: string }) => iso3);
});
afterAll(() => service.stop());

async function profile(iso3: string): Promise<CountryDetail> {
  return (await service.get(`/v1/countries/${iso3}`, { key: key.key })).json.data;
}

const asShown = ({ indicator, value }: TopicItem) => ({ indicator, value });

describe('/countries/{iso3}', () => {
  test('shows up to five figures of each topic as the API gives them, for every country', async () => {
    expect(codes.length).toBeGreaterThan(5);
    for (const iso3 of codes) {
      const { text } = await service.get(`/countries/${iso3}`);
      const { topics } = await profile(iso3);
      const held = Object.values(topics).flat().map(asShown);
      const shown = figuresIn(text);
      const expected = Object.values(topics).reduce((sum, items) => sum + Math.min(5, items.length), 0);
      expect([iso3, shown.length]).toEqual([iso3, expected]);
      for (const figure of shown) expect(held).toContainEqual(figure);
    }
  });

  test('is found by any code in any case, and names one address', async () => {
    for (const code of ['KEN', 'ken', 'KE']) {
      const { status, text } = await service.get(`/countries/${code}`);
      expect([code, status]).toEqual([code, 200]);
      expect(text).toMatch(/<link rel="canonical" href="[^"]*\/countries\/KEN">/);
    }
  });

  test('is 404 for a code that no country has, without repeating markup', async () => {
    const { status, text } = await service.get('/countries/%3Cb%3E');
    expect(status).toBe(404);
    expect(text).not.toContain('<b>');
  });
});

describe('/countries/{iso3}/{topic}', () => {
  test('shows all figures of the topic in the order of the API', async () => {
    for (const iso3 of codes) {
      for (const [slug, items] of Object.entries((await profile(iso3)).topics)) {
        const { text } = await service.get(`/countries/${iso3}/${slug}`);
        expect([iso3, slug, figuresIn(text)]).toEqual([iso3, slug, items.map(asShown)]);
      }
    }
  });

  test('is 404 for an unknown topic', async () => {
    expect((await service.get('/countries/KEN/astrology')).status).toBe(404);
  });
});

describe('/countries', () => {
  const listed = async (query: string): Promise<string[]> => {
    const { text } = await service.get(`/countries${query}`);
    return [...text.matchAll(/<li><a href="\/countries\/([A-Z]{3})">/g)]
      .map(([, code]) => String(code))
      .sort();
  };

  test('lists every country once', async () => {
    expect(await listed('')).toEqual(codes.toSorted());
  });

  test('filters as the API does', async () => {
    const { data } = (await service.get('/v1/countries')).json;
    const regions = new Set<string>(data.flatMap(({ region }: { region: string | null }) => region ?? []));
    for (const region of regions) {
      const query = `?region=${encodeURIComponent(region)}&income=&group=`;
      const expected = data.filter((country: { region: string }) => country.region === region);
      expect(await listed(query)).toEqual(expected.map(({ iso3 }: { iso3: string }) => iso3).sort());
    }
    const { data: groups } = (await service.get('/v1/groups')).json;
    const eu = groups.find(({ id }: { id: string }) => id === 'eu');
    expect(await listed('?group=eu')).toEqual(eu.members.toSorted());
    expect(await listed('?group=nothing')).toEqual([]);
  });
});
