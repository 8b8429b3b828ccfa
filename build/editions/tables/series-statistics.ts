/**
 * Statistics of the figures of every published series, for the quality checks: one scan of the observation files that are new.
 * Those of files that were linked from the snapshot before are taken over from its `statistics.json`.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { version as duckVersion } from '@duckdb/node-api';
import { z } from 'zod';
import { readSql } from '../../../data/runtime/sql-files.ts';
import { type SeriesStatistics, seriesStatistics, statisticsFile } from '../../../data/schema/quality.ts';
import { STATISTICS } from '../../../data/schema/snapshot.ts';
import type { DuckSession } from '../../runtime/duckdb.ts';
import type { PlannedIndicator } from '../plan/plan-snapshot.ts';
import { batchIndicators, filesOf } from './materialise.ts';

const SERIES_STATISTICS = readSql(import.meta.url, 'sql/series-statistics.sql');
const ANOMALIES = readSql(import.meta.url, 'sql/anomalies.sql');

/** Increment when the computation of statistics changes. Hashes are DuckDB's own, so its version counts, too. */
const STATISTICS_VERSION = `4, DuckDB ${duckVersion()}`;

const statisticsRow = seriesStatistics.extend({
  id: z.string(),
  statuses: z
    .array(z.object({ key: z.string(), value: z.coerce.number() }))
    .nullable()
    .transform((entries) => Object.fromEntries((entries ?? []).map(({ key, value }) => [key, value]))),
  anomalies: seriesStatistics.shape.anomalies.default([]),
});
const anomaliesRow = seriesStatistics.pick({ anomalies: true }).extend({ id: z.string() });

/** The statistics of a published snapshot by indicator id; empty when it has none of this version. */
export async function readStatistics(directory: string): Promise<Map<string, SeriesStatistics>> {
  const text = await readFile(join(directory, STATISTICS), 'utf8').catch(() => 'null');
  const read = statisticsFile.safeParse(JSON.parse(text));
  return new Map(read.data?.version === STATISTICS_VERSION ? Object.entries(read.data.series) : []);
}

/** The content of `statistics.json`. */
export const statisticsText = (statistics: ReadonlyMap<string, SeriesStatistics>): string =>
  JSON.stringify({ version: STATISTICS_VERSION, series: Object.fromEntries(statistics) });

/**
 * Returns the statistics by id; series without rows are absent.
 * @param known of series whose files did not change.
 */
export async function collectStatistics(
  duck: DuckSession,
  directory: string,
  indicators: readonly PlannedIndicator[],
  known: ReadonlyMap<string, SeriesStatistics>,
): Promise<Map<string, SeriesStatistics>> {
  const found = new Map<string, SeriesStatistics>();
  for (const batch of batchIndicators(indicators.filter(({ id }) => !known.has(id)))) {
    const files = filesOf(directory, batch);
    for (const { id, ...statistics } of await duck.select(statisticsRow, SERIES_STATISTICS, { files }))
      found.set(id, statistics);
    for (const { id, anomalies } of await duck.select(anomaliesRow, ANOMALIES, { files })) {
      const statistics = found.get(id);
      if (statistics) statistics.anomalies = anomalies;
    }
  }
  return new Map(
    indicators.flatMap(({ id }) => {
      const statistics = found.get(id) ?? known.get(id);
      return statistics ? [[id, statistics] as const] : [];
    }),
  );
}
