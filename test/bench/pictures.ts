/** Pictures of the site: what one costs, and whether a flood of them is felt by paid calls. */
import { dataPath, hotQuery } from './data-queries.ts';
import { requestTexts } from './http-client.ts';
import type { LoadJob, LoadResult } from './load.ts';
import { forkTask, type Gateway } from './processes.ts';
import type { Row } from './report.ts';
import type { Session } from './session.ts';

/** Indicators whose pictures are asked for; others warm the process up before. */
const PICTURES = 60;
/** Lines as pages link them. The first to read an indicator pays for reading it. */
const LINES = 'lines.svg?countries=KEN,BRA,IND';
const NAMES = ['map.svg', LINES, 'bars.svg', 'map.png', 'bars.png'];
const DRAWN_WITHIN_MS = 5;
const ROUND_MS = 3_000;
const ROUNDS = 7;
const PAID_CONNECTIONS = 32;
/** As many as the queue holds: each waits for its picture before it asks for the next one, and none is refused. */
const FLOOD_CONNECTIONS = 16;
const SLOWER_AT_MOST = 1.1;

export async function pictureRows(session: Session): Promise<Row[]> {
  await using gateway = await session.gateway();
  return [...(await drawingRows(session, gateway)), await floodRow(session, gateway)];
}

async function drawingRows(session: Session, gateway: Gateway): Promise<Row[]> {
  const { catalogue } = await session.snapshot();
  const ids = catalogue.indicators.map(({ record }) => record.id).slice(0, PICTURES * 2);
  const rows: Row[] = [];
  for (const name of NAMES) {
    session.say(`CPU of ${name}`);
    const paths = ids.map((id) => `/indicators/${encodeURIComponent(id)}/${name}`);
    await drawOnce(session, gateway, paths.slice(PICTURES));
    const before = (await gateway.cpu()) ?? Number.NaN;
    const { answers } = await drawOnce(session, gateway, paths.slice(0, PICTURES));
    const after = (await gateway.cpu()) ?? Number.NaN;
    rows.push({
      name: `${name}, first request: CPU`,
      measured: { unit: 'ms', rounds: [(after - before) / answers] },
      ...(!name.endsWith('.png') && { goal: { at: 'most', bound: DRAWN_WITHIN_MS } }),
    });
  }
  return rows;
}

const drawOnce = (session: Session, { port }: Gateway, paths: readonly string[]): Promise<LoadResult> =>
  session.load.ask<LoadJob, LoadResult>({
    port,
    requests: paths.flatMap((path) => requestTexts({ path })),
    connections: 1,
    duration_ms: 60_000,
    once: true,
  });

/** Rounds with and without the flood in turn, so that noise affects both. */
async function floodRow(session: Session, gateway: Gateway): Promise<Row> {
  session.say('paid calls beside a flood of pictures');
  const { catalogue } = await session.snapshot();
  const { key } = await session.customer();
  const call = { path: dataPath(hotQuery(catalogue)), headers: { authorization: `Bearer ${key}` } };
  const requests = catalogue.indicators.flatMap(({ record: { id, coverage } }) => {
    const last = coverage?.latest_year ?? 0;
    return Array.from(
      { length: 30 },
      (_, at) => `/indicators/${encodeURIComponent(id)}/map.png?year=${last - at}`,
    );
  });
  const flood = { port: gateway.port, requests: requests.flatMap((path) => requestTexts({ path })) };
  const paid = (): Promise<LoadResult> =>
    session.load.ask({
      port: gateway.port,
      requests: requestTexts(call),
      connections: PAID_CONNECTIONS,
      duration_ms: ROUND_MS,
    });
  await using pictures = forkTask(new URL('load.ts', import.meta.url));
  const besideFlood = async (): Promise<LoadResult> => {
    const flooding = pictures.ask<LoadJob, LoadResult>({
      ...flood,
      connections: FLOOD_CONNECTIONS,
      duration_ms: ROUND_MS,
    });
    const result = await paid();
    await flooding;
    return result;
  };
  await paid();
  const rounds: { flooded: number; quiet: number }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const quiet = await paid();
    const flooded = await besideFlood();
    if (quiet.errors + flooded.errors > 0) throw new Error('a paid call failed');
    rounds.push({ flooded: flooded.latency_p99_ms, quiet: quiet.latency_p99_ms });
  }
  return {
    name: `p99 of paid calls beside a flood of pictures, ${FLOOD_CONNECTIONS} at once`,
    measured: { unit: 'ms', rounds: rounds.map(({ flooded }) => flooded) },
    floor: { name: 'without it', sample: { unit: 'ms', rounds: rounds.map(({ quiet }) => quiet) } },
    goal: { at: 'most', bound: SLOWER_AT_MOST },
  };
}
