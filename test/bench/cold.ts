/**
 * A filtered `/v1/data` that no memory holds, beside the bare query on the same file. Each round has a gateway of its own
 * and asks it for each indicator once; others, before, have warmed up its code. Then it asks for all of them again: the gateway
 * of these rows has the smallest hot memory, so this is what a working set costs that does not fit. Files are in the page
 * cache for everyone.
 */
import { join, resolve } from 'node:path';
import { observationsFile } from '../../data/schema/snapshot.ts';
import type { FloorQuestion, SliceQuery } from './floors.ts';
import { requestText } from './http-client.ts';
import type { LoadJob, LoadResult } from './load.ts';
import type { Gateway, Helper } from './processes.ts';
import { median, type Row } from './report.ts';

const ROUNDS = 5;
const WARM_UP_SHARE = 0.3;
const PASS_AT_MOST_MS = 60_000;

export interface ColdSlice {
  indicator: string;
  countries: string[];
  from: number;
  to: number;
}

export const dataPath = ({ indicator, countries, from, to }: ColdSlice): string =>
  `/v1/data?indicator=${encodeURIComponent(indicator)}&countries=${countries.join(',')}&from=${from}&to=${to}`;

interface ColdTools {
  start: () => Promise<Gateway>;
  key: string;
  load: Helper;
  floor: Helper;
  snapshotDir: string;
}

/** Milliseconds of one slice, medians by round over all indicators. */
export async function coldRows(tools: ColdTools, slices: ColdSlice[]): Promise<Row[]> {
  const share = Math.ceil(slices.length * WARM_UP_SHARE);
  const [warmUp, asked] = [slices.slice(0, share), slices.slice(share)];
  const queries = asked.map(
    ({ indicator, ...slice }): SliceQuery => ({
      ...slice,
      file: resolve(join(tools.snapshotDir, observationsFile(indicator))),
    }),
  );
  const bare = (): Promise<number[]> => tools.floor.ask<FloorQuestion, number[]>({ kind: 'duckdb', queries });
  const onePass = async ({ port }: Gateway, each: ColdSlice[]): Promise<number> => {
    const requests = each.map((slice) =>
      requestText({ path: dataPath(slice), headers: { authorization: `Bearer ${tools.key}` } }),
    );
    const job = { port, requests, connections: 1, duration_ms: PASS_AT_MOST_MS, once: true };
    const { errors, answers, latency_p50_ms } = await tools.load.ask<LoadJob, LoadResult>(job);
    if (errors > 0 || answers !== each.length) throw new Error('cold /v1/data: not every answer was 200');
    return latency_p50_ms;
  };

  const times = { first: [] as number[], again: [] as number[], bare: [] as number[] };
  await bare();
  for (let round = 0; round < ROUNDS; round++) {
    await using gateway = await tools.start();
    await onePass(gateway, warmUp);
    times.first.push(await onePass(gateway, asked));
    times.bare.push(median(await bare()));
    times.again.push(await onePass(gateway, asked));
  }
  const floor = { name: 'bare DuckDB query', sample: { unit: 'ms' as const, rounds: times.bare } };
  return [
    {
      name: `cold filtered /v1/data, ${asked.length} indicators in turn`,
      measured: { unit: 'ms', rounds: times.first },
      floor,
      goal: { at: 'most', bound: 1.5 },
    },
    { name: 'the same again, with memory for none', measured: { unit: 'ms', rounds: times.again }, floor },
  ];
}
