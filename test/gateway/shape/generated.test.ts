/** GET /data in every shape over the starter data: generated calls, against the answers for single indicators combined. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cases } from '../../environment.ts';
import { buildStarter } from '../../shared-builds.ts';
import { useService } from '../service.ts';
import { expectedData, type FullRow, queryOf, type World } from './expected-data.ts';
import { generatedCalls } from './generated-calls.ts';

const COLUMNS = 'iso3,year,value,ci_lo,ci_hi,rank,projected,status,reason,rank_lo,rank_hi';

const { snapshots } = await buildStarter();
const service = await useService({ snapshots });
const { key } = await service.account({ credits: 100_000_000 });
const known = new Map<string, Promise<FullRow[]>>();
const read = async (id: string) =>
  (await service.get(`/v1/data?indicator=${id}&fields=${COLUMNS}`, { key })).json.data;
const world: World = {
  countries: (await service.get('/v1/countries')).json.data,
  indicators: (await service.get('/v1/indicators')).json.data,
  rowsOf(id) {
    const rows = known.get(id) ?? read(id);
    known.set(id, rows);
    return rows;
  },
};

test('rows, order, price and count', async () => {
  await fc.assert(
    fc.asyncProperty(generatedCalls(world), async (call) => {
      const answer = await service.get(`/v1/data?${queryOf(call)}`, { key });
      const { rows, price } = await expectedData(world, call);
      expect(answer.status).toBe(200);
      expect(answer.json.data).toEqual(rows);
      expect(answer.json.meta.count).toBe(rows.length);
      expect(answer.headers['x-credits-charged']).toBe(String(price));
    }),
    { numRuns: cases(60) },
  );
}, 300_000);
