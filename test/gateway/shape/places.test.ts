/** Codes and groups in `countries`, and the list of groups. */
import { expect, test } from 'vitest';
import { stopAfterTests } from '../../after-tests.ts';
import { Service } from '../service.ts';

const service = await stopAfterTests(Service.start());
const owner = await service.account({ credits: 100_000 });

const get = (countries: string, path = 'data') =>
  service.get(`/v1/${path}?indicator=alpha.life_expectancy&countries=${countries}`, { key: owner.key });

test('ISO2 and M49 codes stand for their countries, in any mixture', async () => {
  // The fixture numbers its countries from 004 on.
  const answer = await get('us,010,KEN,KE');
  expect(answer.json.meta.countries).toEqual(['USA', 'DEU', 'KEN']);
  const plain = await get('USA,DEU,KEN');
  expect(answer.text).toBe(plain.text);
  expect(answer.headers['x-credits-charged']).toBe(plain.headers['x-credits-charged']);
});

test('a code that no country has matches nothing and is echoed in upper case', async () => {
  const answer = await get('zz,999');
  expect(answer.json).toMatchObject({ data: [], meta: { countries: ['ZZ', '999'], count: 0 } });
  expect(answer.headers['x-credits-charged']).toBe('1');
});

test('groups are their served members, whatever their case', async () => {
  const answer = await get('@G7,ken');
  expect(answer.json.meta.countries).toEqual(['DEU', 'USA', 'KEN']);
  expect(answer.text).toBe((await get('DEU,USA,KEN')).text);
  const none = await get('@asean');
  expect(none.json).toMatchObject({ data: [], meta: { countries: [], count: 0 } });
});

test('revisions take them, too', async () => {
  expect((await get('@g7', 'revisions')).json.meta.countries).toEqual(['DEU', 'USA']);
});

test('the list of groups tells members, source and date', async () => {
  const { data, meta } = (await service.get('/v1/groups')).json;
  expect(meta.count).toBe(data.length);
  expect(data.find(({ id }: { id: string }) => id === 'wb-north-america')).toMatchObject({
    members: ['USA'],
  });
  expect(data.find(({ id }: { id: string }) => id === 'eu')).toEqual({
    id: 'eu',
    name: 'European Union',
    members: ['DEU'],
    source: 'https://european-union.europa.eu/principles-countries-history/eu-countries_en',
    as_of: '2020-02-01',
  });
});
