/** Parts of the bench: the start of the gateway, and its memory. */

import { freePort } from '../free-ports.ts';
import { requestText } from './http-client.ts';
import type { LoadJob, LoadResult } from './load.ts';
import { startGateway } from './processes.ts';
import type { Row } from './report.ts';
import type { Session } from './session.ts';

const STARTS = 5;
const PASSES = 2;
const CONNECTIONS = 8;
const PASS_AT_MOST_MS = 180_000;
const MEGABYTE = 1024 * 1024;

/** With a full hot cache, the worst case: a client reads every indicator whole, as JSON and CSV, twice. */
export async function memoryRows(session: Session): Promise<Row[]> {
  const { catalogue } = await session.snapshot();
  const { key } = await session.customer();
  const metricsPort = await freePort();
  await using gateway = await session.gateway({ METRICS_PORT: String(metricsPort) });
  const before = await gateway.memory();
  const open = catalogue.indicators.filter(({ record }) => record.access_tier === 'open');
  const requests = open.flatMap(({ record }) =>
    ['json', 'csv'].map((format) =>
      requestText({
        path: `/v1/data?indicator=${encodeURIComponent(record.id)}&format=${format}`,
        headers: { authorization: `Bearer ${key}` },
      }),
    ),
  );
  let most = 0;
  for (let pass = 0; pass < PASSES; pass++) {
    session.say(`memory: every indicator whole, pass ${pass + 1}`);
    const job = {
      port: gateway.port,
      requests,
      connections: CONNECTIONS,
      duration_ms: PASS_AT_MOST_MS,
      once: true,
    };
    const { errors } = await session.load.ask<LoadJob, LoadResult>(job);
    if (errors > 0) throw new Error(`${errors} answers were not 200`);
    most = Math.max(most, (await gateway.memory()) ?? Number.NaN);
  }
  const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const hot = Number(/^almanac_hot_cache_bytes (\S+)/m.exec(metrics)?.[1]) / MEGABYTE;
  const row = (name: string, megabytes: number): Row => ({
    name,
    measured: { unit: 'MB', rounds: [megabytes] },
  });
  return [
    row('memory before any call', before ?? Number.NaN),
    row(`memory after all ${open.length} indicators, whole, as JSON and CSV, twice`, most),
    row('… of which hot indicators (HOT_CACHE_MB)', hot),
  ];
}

/** Several starts. The first counts too, since files are in the page cache. */
export async function startRows(session: Session): Promise<Row[]> {
  await session.snapshot();
  session.say('starting the gateway');
  const ready: number[] = [];
  const memory: number[] = [];
  for (let start = 0; start < STARTS; start++) {
    await using gateway = await startGateway(session.settings);
    ready.push(gateway.ready_ms / 1000);
    memory.push((await gateway.memory()) ?? Number.NaN);
  }
  return [
    {
      name: 'gateway: start to ready',
      measured: { unit: 's', rounds: ready },
      goal: { at: 'most', bound: 2 },
    },
    {
      name: 'gateway: resident memory when ready',
      measured: { unit: 'MB', rounds: memory },
      goal: { at: 'most', bound: 300 },
    },
  ];
}
