/**
 * A filtered `/v1/data` that no memory holds, beside the bare query on the same file. The gateway of this row has the
 * smallest hot memory, so going round many indicators finds none of them there; files are in the page cache for both.
 */
import { join, resolve } from 'node:path';
import { observationsFile } from '../../data/schema/snapshot.ts';
import type { FloorQuestion, SliceQuery } from './floors.ts';
import { requestText } from './http-client.ts';
import type { LoadJob, LoadResult } from './load.ts';
import type { Helper } from './processes.ts';
import { median, type Row } from './report.ts';

const ROUNDS = 5;
const ROUND_MS = 1_500;

export interface ColdSlice {
  indicator: string;
  countries: string[];
  from: number;
  to: number;
}

export const dataPath = ({ indicator, countries, from, to }: ColdSlice): string =>
  `/v1/data?indicator=${encodeURIComponent(indicator)}&countries=${countries.join(',')}&from=${from}&to=${to}`;

/** Milliseconds of one cold slice, medians by round over all indicators. */
export async function coldRow(
  gateway: { port: number; key: string; load: Helper },
  floor: Helper,
  snapshotDir: string,
  slices: ColdSlice[],
): Promise<Row> {
  const queries: SliceQuery[] = slices.map(({ indicator, ...slice }) => ({
    ...slice,
    file: resolve(join(snapshotDir, observationsFile(indicator))),
  }));
  const requests = slices.map((slice) =>
    requestText({ path: dataPath(slice), headers: { authorization: `Bearer ${gateway.key}` } }),
  );
  const gatewayTime = async (): Promise<number> => {
    const job = { port: gateway.port, requests, connections: 1, duration_ms: ROUND_MS };
    const { errors, latency_p50_ms } = await gateway.load.ask<LoadJob, LoadResult>(job);
    if (errors > 0) throw new Error(`cold /v1/data: ${errors} answers were not 200`);
    return latency_p50_ms;
  };
  const bareTimes = () => floor.ask<FloorQuestion, number[]>({ kind: 'duckdb', queries });
  await gatewayTime();
  await bareTimes();
  const measured: number[] = [];
  const bare: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    measured.push(await gatewayTime());
    bare.push(median(await bareTimes()));
  }
  return {
    name: `cold filtered /v1/data, ${slices.length} indicators in turn`,
    measured: { unit: 'ms', rounds: measured },
    floor: { name: 'bare DuckDB query', sample: { unit: 'ms', rounds: bare } },
    goal: { at: 'most', bound: 1.5 },
  };
}
