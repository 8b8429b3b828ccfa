/**
 * Filtered `/v1/data` without any cache, compared with the bare query on the same file. Each round starts a gateway, warms
 * it up with other indicators, and queries each indicator once. Files are in the page cache for both sides.
 */
import { join, resolve } from 'node:path';
import { observationsFile } from '../../data/schema/snapshot.ts';
import { type DataQuery, dataPath, slices } from './data-queries.ts';
import type { FloorQuestion, ParquetQuery } from './floors.ts';
import { requestText } from './http-client.ts';
import type { LoadJob, LoadResult } from './load.ts';
import { forkTask, type Gateway } from './processes.ts';
import { median, type Row } from './report.ts';
import type { Session } from './session.ts';

const ROUNDS = 4;
const WARM_UP_SHARE = 0.3;
const PASS_AT_MOST_MS = 60_000;
const AT_MOST = 1.4;
/** Queries to the gateway, then the same ones to the floor, so that noise affects both. */
const BATCH = 35;

/** Milliseconds per query, as medians of batches. */
export async function coldRows(session: Session): Promise<Row[]> {
  const { dir, catalogue } = await session.snapshot();
  const { key } = await session.customer();
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
  const onePass = async ({ port }: Gateway, each: DataQuery[]): Promise<number> => {
    const requests = each.map((slice) =>
      requestText({ path: dataPath(slice), headers: { authorization: `Bearer ${key}` } }),
    );
    const job = { port, requests, connections: 1, duration_ms: PASS_AT_MOST_MS, once: true };
    const { errors, answers, latency_p50_ms } = await session.load.ask<LoadJob, LoadResult>(job);
    if (errors > 0 || answers !== each.length) throw new Error('cold /v1/data: not every response was 200');
    return latency_p50_ms;
  };

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
