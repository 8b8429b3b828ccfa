/**
 * Filtered `/v1/data` without any cache, compared with the bare query on the same file. Each round starts a gateway, warms
 * it up with other indicators, and queries each indicator once. Files are in the page cache for both sides.
 */
import { join, resolve } from 'node:path';
import { observationsFile } from '../../data/schema/snapshot.ts';
import { type DataQuery, dataPath, slices } from './data-queries.ts';
import type { FloorQuestion, ParquetQuery } from './floors.ts';
import { forkTask, type Gateway } from './processes.ts';
import { median, type Row } from './report.ts';
import type { Session } from './session.ts';

const ROUNDS = 4;
const WARM_UP_SHARE = 0.3;
const AT_MOST = 1.4;
/** Queries to the gateway, then the same ones to the floor, so that noise affects both. */
const BATCH = 35;

/** Milliseconds per query, as medians of batches. */
export async function coldRows(session: Session): Promise<Row[]> {
  const { dir, catalogue } = await session.snapshot();
  session.say('cold /v1/data');
  await using floor = forkTask(new URL('floors.ts', import.meta.url));
  const all = slices(catalogue);
  const share = Math.ceil(all.length * WARM_UP_SHARE);
  const [warmUp, asked] = [all.slice(0, share), all.slice(share)];
  const queries = asked.map(
    ({ indicator, ...slice }): ParquetQuery => ({
      ...slice,
      file: resolve(join(dir, observationsFile(indicator))),
    }),
  );
  const bare = async (each: ParquetQuery[]): Promise<number> =>
    median(await floor.ask<FloorQuestion, number[]>({ kind: 'duckdb', queries: each }));
  const onePass = async (gateway: Gateway, each: DataQuery[]): Promise<number> =>
    (await session.ask(gateway, each.map(dataPath))).latency_p50_ms;

  const own_ms: number[] = [];
  const bare_ms: number[] = [];
  await bare(queries);
  for (let round = 0; round < ROUNDS; round++) {
    await using gateway = await session.gateway({ HOT_CACHE_MB: '1' });
    await onePass(gateway, warmUp);
    for (let from = 0; from < asked.length; from += BATCH) {
      own_ms.push(await onePass(gateway, asked.slice(from, from + BATCH)));
      bare_ms.push(await bare(queries.slice(from, from + BATCH)));
    }
  }
  return [
    {
      name: `cold filtered /v1/data, ${asked.length} indicators in turn`,
      measured: { unit: 'ms', rounds: own_ms },
      floor: { name: 'bare DuckDB query', sample: { unit: 'ms', rounds: bare_ms } },
      goal: { at: 'most', bound: AT_MOST },
    },
  ];
}
