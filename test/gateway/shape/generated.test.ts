/** GET /data in every shape over the starter data: generated calls, against the answers for single indicators combined. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ObservationRow } from '../../../data/schema/records.ts';
import { FIELDS } from '../../../gateway/operations/data-columns.ts';
import { BUILD_WITHIN_MS, buildStarter } from '../../shared-builds.ts';
import { Service } from '../service.ts';
import { type DataCall, expectedData, queryOf, type World } from './expected-data.ts';

let service: Service;
let key: string;
let world: World;

beforeAll(async () => {
  const { snapshots } = await buildStarter();
  service = await Service.start({ snapshots });
  ({ key } = await service.account({ credits: 100_000_000 }));
  const known = new Map<string, Promise<ObservationRow[]>>();
  const read = async (id: string) => (await service.get(`/v1/data?indicator=${id}`, { key })).json.data;
  world = {
    countries: (await service.get('/v1/countries')).json.data,
    indicators: (await service.get('/v1/indicators')).json.data,
    rowsOf(id) {
      const rows = known.get(id) ?? read(id);
      known.set(id, rows);
      return rows;
    },
  };
}, BUILD_WITHIN_MS);
afterAll(() => service?.stop());

/** Changes of rank are held by the file only, and compared with rankings elsewhere. */
const COMPARED = FIELDS.filter((field) => field !== 'rank_delta_1y');

function calls(): fc.Arbitrary<DataCall> {
  const ids = fc.constantFrom(
    ...world.indicators.filter(({ access_tier }) => access_tier === 'open').map(({ id }) => id),
  );
  const codes = fc.constantFrom(...world.countries.map(({ iso3 }) => iso3));
  const shape = fc.oneof(
    fc.constant({}),
    fc.record({ layout: fc.constantFrom('long', 'wide') }),
    fc.record({ fields: fc.uniqueArray(fc.constantFrom(...COMPARED), { minLength: 1 }) }),
  );
  const filter = fc.record(
    {
      countries: fc.uniqueArray(codes, { minLength: 1, maxLength: 12 }),
      latest: fc.integer({ min: 1, max: 5 }),
      missing: fc.constantFrom('null', 'omit'),
    },
    { requiredKeys: [] },
  );
  const years = fc.record({
    from: fc.integer({ min: 1950, max: 2000 }),
    to: fc.integer({ min: 2000, max: 2100 }),
  });
  const indicators = fc.oneof(ids, fc.array(ids, { minLength: 1, maxLength: 8 }));
  return fc
    .tuple(indicators, shape, filter, fc.option(years))
    .map(([asked, ...parts]) => ({ indicators: asked, ...Object.assign({}, ...parts) }));
}

test('rows, order, price and count', async () => {
  await fc.assert(
    fc.asyncProperty(calls(), async (call) => {
      const answer = await service.get(`/v1/data?${queryOf(call)}`, { key });
      const { rows, price } = await expectedData(world, call);
      expect(answer.status).toBe(200);
      expect(answer.json.data).toEqual(rows);
      expect(answer.json.meta.count).toBe(rows.length);
      expect(answer.headers['x-credits-charged']).toBe(String(price));
    }),
    { numRuns: 60 },
  );
}, 300_000);
