/**
 * Writes the latest values of each indicator and country, of which country profiles of earlier editions are made. They are
 * in parts, so that a revision rewrites few of them. A part begins at an id whose hash says so: an indicator that is added
 * or vanishes changes no part but its own.
 */
import { hash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readSql } from '../../../data/runtime/sql-files.ts';
import { latestFile } from '../../../data/schema/snapshot.ts';
import type { DuckSession } from '../../runtime/duckdb.ts';
import type { PlannedIndicator } from '../plan/plan-snapshot.ts';

const WRITE_LATEST = readSql(import.meta.url, 'sql/write-latest.sql');

/** The mean. */
const INDICATORS_PER_PART = 8;

type Indicator = Pick<PlannedIndicator, 'id' | 'number' | 'providerId'>;

/** The indicators of each file, neighbours by id. */
export function latestParts<One extends Indicator>(indicators: readonly One[]): Map<string, One[]> {
  const files = new Map<string, One[]>();
  const byId = indicators.toSorted((a, b) => a.number - b.number);
  for (const [provider, own] of Map.groupBy(byId, ({ providerId }) => providerId)) {
    let part = 0;
    for (const [at, indicator] of own.entries()) {
      if (at > 0 && beginsPart(indicator.id)) part += 1;
      const name = latestFile(provider, part);
      files.set(name, [...(files.get(name) ?? []), indicator]);
    }
  }
  return files;
}

const beginsPart = (id: string): boolean =>
  Number.parseInt(hash('sha256', id).slice(0, 8), 16) % INDICATORS_PER_PART === 0;

/** Needs the table `country_series`. */
export async function writeLatest(
  duck: DuckSession,
  directory: string,
  indicators: readonly Indicator[],
): Promise<void> {
  await mkdir(join(directory, 'latest'), { recursive: true });
  for (const [name, part] of latestParts(indicators)) {
    const [first, last] = [part[0]?.number ?? 0, part.at(-1)?.number ?? 0];
    await duck.run(WRITE_LATEST, { first, last, file: join(directory, name) });
  }
}
