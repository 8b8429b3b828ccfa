/** `/compare`: figures are those of the API, and what is not there is named. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TopicItem } from '../../../data/schema/records.ts';
import { Service, type TestKey } from '../service.ts';

let service: Service;
let key: TestKey;
beforeAll(async () => {
  service = await Service.start();
  key = await service.account({ credits: 10_000 });
});
afterAll(() => service.stop());

/** Latest values in the order of the rows. */
const shown = (html: string): (number | null)[] =>
  [...html.matchAll(/<tr><th scope="row">[^<]*<\/th><td class="figure">(?:<data value="([^"]+)">)?/g)].map(
    ([, value]) => (value === undefined ? null : Number(value)),
  );

describe('/compare', () => {
  test('shows the latest figures of the API for every indicator', async () => {
    const { data: indicators } = (await service.get('/v1/indicators')).json;
    const { data: countries } = (await service.get('/v1/countries')).json;
    const codes: string[] = countries.map(({ iso3 }: { iso3: string }) => iso3).slice(0, 5);
    const latest = new Map<string, number | null>();
    for (const iso3 of codes) {
      const { topics } = (await service.get(`/v1/countries/${iso3}`, { key: key.key })).json.data;
      for (const { indicator, value } of Object.values<TopicItem[]>(topics).flat())
        latest.set(`${iso3} ${indicator}`, value);
    }
    for (const { id } of indicators) {
      const { text } = await service.get(`/compare?countries=${codes.join(',')}&indicators=${id}`);
      const figures = shown(text);
      expect([id, figures.length]).toEqual([id, codes.length]);
      for (const [at, iso3] of codes.entries()) {
        // The profile lists observed figures; a series of projections alone shows its newest one here.
        const expected = latest.get(`${iso3} ${id}`);
        if (expected !== undefined) expect([id, iso3, figures[at]]).toEqual([id, iso3, expected]);
      }
    }
  });

  test('names what is not there and shows the rest', async () => {
    const { status, text } = await service.get('/compare?countries=KEN,ZZZ&indicators=none.such%3Cb%3E');
    expect(status).toBe(200);
    expect(text).toContain('There is no country “ZZZ”.');
    expect(text).toContain('There is no indicator “none.such&lt;b&gt;”.');
    expect(text).toContain('/countries/KEN');
  });

  test('adds and removes by links and forms without a script', async () => {
    const { data } = (await service.get('/v1/countries')).json;
    const [a, b, c] = data.map(({ iso3 }: { iso3: string }) => iso3);
    const { text } = await service.get(`/compare?countries=${a},${b}&indicators=&add_country=${c}`);
    const links = [...text.matchAll(/href="(\/compare\?[^"]*)" aria-label="Remove/g)];
    expect(links.length).toBe(3);
    const after = await service.get(String(links[1]?.[1]).replaceAll('&amp;', '&'));
    const left = [...after.text.matchAll(/<li><a href="\/countries\/([A-Z]{3})">/g)].map(([, code]) => code);
    expect(left).toEqual([a, c]);
  });

  test('shows at most five countries and two indicators, and says so', async () => {
    const { data } = (await service.get('/v1/countries')).json;
    const codes = data.map(({ iso3 }: { iso3: string }) => iso3);
    const { text } = await service.get(`/compare?countries=${codes.slice(0, 7).join(',')}`);
    expect(text.match(/aria-label="Remove /g)?.length).toBe(5);
    expect(text).toContain('Only the first 5 countries are shown.');
  });
});
