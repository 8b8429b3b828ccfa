/** Calls of GET /data in every shape. */
import fc from 'fast-check';
import { FIELDS } from '../../../gateway/api/operations/observations/long-table.ts';
import type { DataCall, World } from './expected-data.ts';

/** Changes of rank are held by the file only, and compared with rankings elsewhere. */
const COMPARED = FIELDS.filter((field) => field !== 'rank_delta_1y');

export function generatedCalls(world: Pick<World, 'countries' | 'indicators'>): fc.Arbitrary<DataCall> {
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
  const years = fc.oneof(
    fc.record({ from: fc.integer({ min: 1950, max: 2000 }), to: fc.integer({ min: 2000, max: 2100 }) }),
    fc.record({ years: fc.array(fc.integer({ min: 1990, max: 2026 }), { minLength: 1, maxLength: 12 }) }),
  );
  const indicators = fc.oneof(ids, fc.array(ids, { minLength: 1, maxLength: 8 }));
  return fc
    .tuple(indicators, shape, filter, fc.option(years))
    .map(([asked, ...parts]) => ({ indicators: asked, ...Object.assign({}, ...parts) }));
}
