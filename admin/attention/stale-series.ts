/** Featured series of the served snapshot whose newest observed year is too old for their provider's cadence. */
import { oldestFreshYear, outdatedSince_ms } from '../provider-freshness.ts';
import { type AttentionSource, counted, listNames } from './item.ts';

export const staleSeries: AttentionSource = {
  finds: 'stale featured series',
  async find({ area, now_ms }) {
    const definitions = await area.providers();
    const records = [...(area.snapshots.current()?.catalogue.indicators.values() ?? [])].map(
      ({ record }) => record,
    );
    const stale = records.flatMap((record) => {
      const oldest = oldestFreshYear(definitions.get(record.provider.id)?.cadence ?? null, now_ms);
      const newest = record.coverage?.latest_year ?? null;
      const isStale = record.featured && oldest !== null && newest !== null && newest < oldest;
      return isStale ? [{ ...record, newest }] : [];
    });
    return [...Map.groupBy(stale, ({ provider }) => provider.id)].map(([id, series]) => {
      const newest = Math.max(...series.map((one) => one.newest));
      const verb = series.length === 1 ? `ends in ${newest}` : `end in ${newest} or earlier`;
      const names = series.map(({ name, newest: year }) => `${name} (${year})`);
      return {
        severity: 'notice',
        what: `${counted(series.length, 'featured series', 'featured series')} of ${series[0]?.provider.name ?? id} ${verb}: ${listNames(names)}.`,
        since_ms: outdatedSince_ms(newest),
        path: `/admin/indicators?provider=${encodeURIComponent(id)}&state=featured`,
        action: 'Change what is featured',
      };
    });
  },
};
