/**
 * Statistics of the figures of every published series, for the quality checks: one scan of the observation files that are new.
 * Those of files that were linked from the snapshot before are taken over from its `statistics.json`.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { version as duckVersion } from '@duckdb/node-api';
import { z } from 'zod';
import { sqlOf } from '../../../data/runtime/sql-files.ts';
import { type SeriesStatistics, seriesStatistics, statisticsFile } from '../../../data/schema/quality.ts';
import { STATISTICS } from '../../../data/schema/snapshot.ts';
import type { DuckSession } from '../../runtime/duckdb.ts';
import { describeError } from '../../runtime/errors.ts';
import type { PlannedIndicator } from '../plan/plan-snapshot.ts';
import { batchIndicators, filesOf, numbersOf } from './materialise.ts';

const sql = sqlOf(import.meta.url);

/** Increment when the computation of statistics changes. Hashes are DuckDB's own, so its version counts, too. */
const STATISTICS_VERSION = `7, DuckDB ${duckVersion()}`;

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

interface CollectedStatistics {
  /** By id. */
  statistics: Map<string, SeriesStatistics>;
  /** Why there are none of a series, by id. A series without rows is in neither. */
  failed: Map<string, string>;
}

/** @param known of series whose files did not change. */
export async function collectStatistics(
  duck: DuckSession,
  directory: string,
  indicators: readonly PlannedIndicator[],
  known: ReadonlyMap<string, SeriesStatistics>,
): Promise<CollectedStatistics> {
  const found = new Map<string, SeriesStatistics>();
  const failed = new Map<string, string>();
  const collect = async (batch: readonly PlannedIndicator[]): Promise<void> => {
    try {
      for (const [id, statistics] of await readBatch(duck, directory, batch)) found.set(id, statistics);
    } catch (error) {
      const half = batch.length >> 1;
      if (half === 0) for (const { id } of batch) failed.set(id, describeError(error));
      else for (const part of [batch.slice(0, half), batch.slice(half)]) await collect(part);
    }
  };
  for (const batch of batchIndicators(indicators.filter(({ id }) => !known.has(id)))) await collect(batch);
  const statistics = indicators.flatMap(({ id }) => {
    const own = found.get(id) ?? known.get(id);
    return own ? [[id, own] as const] : [];
  });
  return { statistics: new Map(statistics), failed };
}

async function readBatch(
  duck: DuckSession,
  directory: string,
  batch: readonly PlannedIndicator[],
): Promise<Map<string, SeriesStatistics>> {
  const files = filesOf(directory, batch);
  const rows = await duck.select(statisticsRow, sql('series-statistics'), { files });
  const found = new Map(rows.map(({ id, ...statistics }) => [id, statistics]));
  const numbers = numbersOf(batch.filter(({ id }) => found.get(id)?.extreme === 0));
  for (const { id, anomalies } of await duck.select(anomaliesRow, sql('anomalies'), { files, numbers })) {
    const statistics = found.get(id);
    if (statistics) statistics.anomalies = anomalies;
  }
  return found;
}
