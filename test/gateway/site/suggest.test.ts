/** What the search box of the site offers. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Service } from '../service.ts';

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

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
