/**
 * Cost of each kind of call: CPU time of gateway and Redis, and memory of Redis. Measured at full load; a single call
 * costs Redis more, because it shares no read or write with others.
 */
import { Redis } from 'ioredis';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import type { Cost } from './cost-table.ts';
import { dataPath, hotQuery, wholeIndicator } from './data-queries.ts';
import { type Call, fetchWhole, requestTexts } from './http-client.ts';
import type { LoadJob, LoadResult } from './load.ts';
import type { Gateway } from './processes.ts';
import type { Session } from './session.ts';

const WARM_UP_MS = 700;
const MEASURED_MS = 3_000;
const CONNECTIONS = 32;
const MEGABYTE = 1_000_000;

interface Kind {
  kind: string;
  call: Call;
  status?: number;
}

/** CPU time and memory so far. */
interface ResourceUsage {
  gateway_ms: number;
  redis_ms: number;
  memory: number;
  ledger: number;
  file: number;
}

export async function costs(session: Session): Promise<Cost[]> {
  await using gateway = await session.gateway();
  const redis = new Redis(session.socket);
  try {
    // A rewrite would shrink the file during the measurement.
    await redis.config('SET', 'auto-aof-rewrite-percentage', '0');
    const found: Cost[] = [];
    for (const kind of await kindsOf(session, gateway)) {
      session.say(`cost of ${kind.kind}`);
      found.push(await costOf(session, gateway, redis, kind));
    }
    return found;
  } finally {
    redis.disconnect();
  }
}

async function kindsOf(session: Session, { port }: Gateway): Promise<Kind[]> {
  const { catalogue } = await session.snapshot();
  const { key } = await session.customer();
  const poor = await session.openAccount('costs', ['--verified']);
  const keyed = (path: string, by = key): Call => ({ path, headers: { authorization: `Bearer ${by}` } });
  const list = { path: '/v1/indicators', headers: { 'accept-encoding': 'br' } };
  const tag = (await fetchWhole(port, list)).headers.etag ?? '';
  const whole = `/v1/data?indicator=${encodeURIComponent(wholeIndicator(catalogue))}`;
  const hot = hotQuery(catalogue);
  return [
    { kind: 'cached catalogue', call: list },
    { kind: '304', call: { ...list, headers: { ...list.headers, 'if-none-match': tag } }, status: 304 },
    {
      kind: 'catalogue searched, not seen before',
      call: { path: '/v1/indicators?q=life%20expectancy', isNewEachTime: true },
    },
    { kind: 'ping', call: keyed('/v1/ping') },
    { kind: 'usage', call: keyed('/v1/usage') },
    { kind: 'one country', call: keyed('/v1/countries/SWE') },
    { kind: 'one ranking', call: keyed(`/v1/rankings/${encodeURIComponent(hot.indicator)}`) },
    { kind: 'filtered data, 60 rows', call: keyed(dataPath(hot)) },
    { kind: 'whole indicator as JSON', call: keyed(whole) },
    { kind: 'whole indicator as CSV', call: keyed(`${whole}&format=csv`) },
    { kind: '401 without a key', call: { path: '/v1/ping' }, status: 401 },
    { kind: '402', call: keyed('/v1/countries/SWE', poor.key), status: 402 },
  ];
}

async function costOf(session: Session, gateway: Gateway, redis: Redis, kind: Kind): Promise<Cost> {
  const { account_id } = await session.customer();
  const usage = async (): Promise<ResourceUsage> => {
    const info = await redis.info();
    const fact = (name: string): number => Number(new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1] ?? 0);
    return {
      gateway_ms: (await gateway.cpu()) ?? Number.NaN,
      redis_ms: (fact('used_cpu_sys') + fact('used_cpu_user')) * 1000,
      memory: fact('used_memory'),
      ledger: (await redis.memory('USAGE', redisKeys.ledger(account_id), 'SAMPLES', 0)) ?? 0,
      file: fact('aof_current_size'),
    };
  };
  const job = {
    port: gateway.port,
    connections: CONNECTIONS,
    ...(kind.status !== undefined && { status: kind.status }),
  };
  const load = (duration_ms: number): Promise<LoadResult> =>
    session.load.ask<LoadJob, LoadResult>({ ...job, requests: requestTexts(kind.call), duration_ms });
  await load(WARM_UP_MS);
  const before = await usage();
  const { answers, errors } = await load(MEASURED_MS);
  if (errors > 0) throw new Error(`${kind.kind}: ${errors} responses had another status`);
  const after = await usage();
  // Keys of earlier measurements may expire meanwhile, which must not count as negative.
  const perMillion = (what: keyof ResourceUsage): number =>
    Math.max(0, ((after[what] - before[what]) / answers) * 1e6);
  const lasting_mb = perMillion('ledger') / MEGABYTE;
  return {
    kind: kind.kind,
    gateway_s: perMillion('gateway_ms') / 1000,
    redis_s: perMillion('redis_ms') / 1000,
    lasting_mb,
    passing_mb: Math.max(0, perMillion('memory') / MEGABYTE - lasting_mb),
    file_mb: perMillion('file') / MEGABYTE,
  };
}
