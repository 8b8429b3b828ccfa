/** What a source says of a figure stands beside it in the ranking, in the words of the API. */
import { expect, test } from 'vitest';
import { World } from '../../build/world.ts';
import { useService } from '../service.ts';
import { rowsOf, sectionOf } from './page-text.ts';

const FIELDS = ['place', 'year', 'rate', 'note'];
const ROWS = [
  'KEN,2023,5,',
  'FRA,2023,4,P',
  'DEU,2023,3,E;B',
  'USA,2023,2,<own>',
  'BRA,2023,1,A',
  'IND,2023,,M',
  'KEN,2022,5,E',
];

const world = await World.use({
  office: {
    connector: 'frictionless',
    source: {
      place: ['place'],
      year: 'year',
      status: 'note',
      packages: [{ path: 'pack', values: ['rate'] }],
    },
  },
});
const fields = FIELDS.map((name) => ({ name, type: 'any' }));
const resources = [{ path: 'data.csv', schema: { fields } }];
await world.write('mirror/office/pack/datapackage.json', JSON.stringify({ name: 'pack', resources }));
await world.write('mirror/office/pack/data.csv', `${[FIELDS.join(), ...ROWS].join('\n')}\n`);
expect(await world.ingest('office')).toMatchObject({ status: 'succeeded', reason: null });
await world.build();
const service = await useService({ snapshots: world.settings.SNAPSHOT_DIR });

test('the ranking marks estimated, provisional and other figures of the latest year', async () => {
  const { data } = (await service.get('/v1/indicators')).json;
  const id: string = data[0].id;
  const { text } = await service.get(`/indicators/${id}`);
  const named = rowsOf(sectionOf(text, 'ranking')).map(([, name]) => name);
  expect(named).toEqual([
    'Kenya',
    'France provisional',
    'Germany estimated break',
    'United States <own>',
    'Brazil',
  ]);
  const { key } = await service.account();
  const { json } = await service.get(`/v1/data?indicator=${id}&from=2023&fields=name,value,status`, { key });
  const said = (json.data as { name: string; value: number | null; status: string | null }[])
    .filter(({ value }) => value !== null)
    .sort((a, b) => (b.value ?? 0) - (a.value ?? 0))
    .map(({ name, status }) => `${name} ${status?.replaceAll(', ', ' ') ?? ''}`.trim());
  expect(named).toEqual(said);
});
