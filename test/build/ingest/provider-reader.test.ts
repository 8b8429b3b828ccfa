/** Row accounting: every row of a connector is kept, rejected, dropped as empty or lost with its series, and counted once. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { RawObservation, SourceItem } from '../../../build/connectors/connector.ts';
import { ProviderReader } from '../../../build/ingest/provider-reader.ts';
import { loadCurated } from '../../../data/curated/curated.ts';
import { providerDefinition } from '../../../data/schema/curated.ts';
import { silentLog } from '../../redis.ts';
import { definition, plainEntry } from '../world.ts';

const curated = await loadCurated('data');
const atlas = providerDefinition.parse(JSON.parse(definition('atlas', { places: ['iso3', 'wb'] })));

const row: fc.Arbitrary<RawObservation> = fc.record(
  {
    place: fc.constantFrom('FRA', 'DEU', 'WLD', 'nowhere'),
    year: fc.constantFrom(2000, '2001', 2002, '2001-2002'),
    value: fc.constantFrom(1, '2', null, 'n/a', 99),
    blank: fc.constant(true),
    withdrawn: fc.constant(true),
    other_dimension: fc.constant('SEX=F'),
  },
  { requiredKeys: ['place', 'year', 'value'] },
);

/** Series in batches: complete, interrupted, failed without a row, or with an invalid slug. */
const series = fc.record({
  batches: fc.array(fc.array(row, { maxLength: 8 }), { maxLength: 3 }),
  breaksOff: fc.boolean(),
  isAnnounced: fc.boolean(),
  hasGoodName: fc.boolean(),
});

it('counts every row of any series once, of good and failed ones', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(series, { maxLength: 6 }), async (all) => {
      const items: SourceItem[] = all.flatMap(({ batches, breaksOff, isAnnounced, hasGoodName }, number) => {
        const slug = `${hasGoodName ? 's' : 'not a slug '}${number}`;
        const rows = batches.map(
          (batch): SourceItem => ({
            kind: 'observations',
            slug,
            rows: batch,
            files: ['figures.csv'],
          }),
        );
        const failed: SourceItem = { kind: 'failed', slug, reason: 'cut off' };
        if (!isAnnounced) return [failed];
        return [{ kind: 'indicator', entry: plainEntry(slug) }, ...rows, ...(breaksOff ? [failed] : [])];
      });
      let kept = 0;
      const reader = new ProviderReader({
        definition: atlas,
        curated: { ...curated, overlay: () => ({ max: 50 }) },
        writer: {
          add: (_, rows) => {
            kept += rows.length;
          },
        },
        currentYear: 2026,
        log: silentLog,
        onProgress: () => {},
      });
      await reader.readAll(
        (async function* () {
          yield* items;
        })(),
      );
      const given = items.flatMap((item) => (item.kind === 'observations' ? item.rows : [])).length;
      const rejected = Object.values(reader.rejects.summary()).reduce(
        (sum, one) => sum + (one?.rows ?? 0),
        0,
      );
      const withSeries = [...reader.failed.values()].reduce((sum, one) => sum + one.rows, 0);
      expect(reader.rowsRead).toBe(given);
      expect(reader.rows).toBe(kept);
      expect(kept + rejected + withSeries + reader.emptyCells).toBe(given);
      expect([...reader.failed.values()].every(({ rows }) => rows >= 0)).toBe(true);
    }),
  );
});
