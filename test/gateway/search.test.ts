/** `GET /v1/search`. */
import { describe, expect, test } from 'vitest';
import { testService } from './site/test-service.ts';

const service = testService();

const search = async (q: string, more = '') =>
  (await service.get(`/v1/search?q=${encodeURIComponent(q)}${more}`)).json;

describe('/v1/search', () => {
  test('finds series by words, and says how well and why', async () => {
    const { data, meta } = await search('how long do people live');
    expect(data[0]).toMatchObject({
      id: 'alpha.life_expectancy',
      name: 'Life expectancy',
      unit: 'years',
      provider: 'alpha',
      match: 'good',
      why: ['how long do people live'],
      concept: null,
      twins: [],
    });
    expect(meta).toMatchObject({
      q: 'how long do people live',
      match: 'good',
      count: data.length,
      nearest: [],
    });
    const { json } = await service.get('/v1/indicators/alpha.life_expectancy');
    expect(data[0].coverage).toEqual(json.data.coverage);
  });

  test('recognises places, groups and years, and searches for the other words', async () => {
    const { data, meta } = await search('Kenya’s life expectancy in the EU, 2020');
    expect(data[0].match).toBe('good');
    expect(meta.places).toEqual([{ iso3: 'KEN', name: 'Kenya' }]);
    expect(meta.groups).toEqual([{ id: 'eu', name: 'European Union' }]);
    expect(meta.years).toEqual([2020]);
    expect((await search('life expectancy in 2021 prices')).meta.years).toEqual([]);
    expect((await search('life expectancy 1500')).data[0]).toMatchObject({ match: 'weak' });
  });

  test('takes no word for a place that only looks like one', async () => {
    for (const words of ['car', 'us', 'in and are', 'can it be'])
      expect([words, (await search(words)).meta.places]).toEqual([words, []]);
    expect((await search('life expectancy USA')).meta.places).toEqual([
      { iso3: 'USA', name: 'United States' },
    ]);
  });

  test('completes the last word, unless a space follows it', async () => {
    expect((await search('life expec')).data[0]?.id).toBe('alpha.life_expectancy');
    expect((await search('expec ')).data).toEqual([]);
  });

  test('answers with nothing where nothing is held, and names words that are near', async () => {
    const { data, meta } = await search('expuctencys');
    expect([data, meta.match, meta.nearest]).toEqual([[], 'none', ['expectancy']]);
  });

  test('answers with at most so many', async () => {
    expect((await search('mortality', '&limit=1')).data).toHaveLength(1);
    for (const query of ['', 'q=', 'q=life&limit=0', 'q=life&limit=51', `q=${'a'.repeat(501)}`])
      expect([query, (await service.get(`/v1/search?${query}`)).status]).toEqual([
        query,
        query === 'q=' ? 200 : 422,
      ]);
  });
});
