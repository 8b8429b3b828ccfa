/**
 * A Redis that answers with errors: out of memory, busy, read-only, short of replicas or without a master. Keyed calls
 * get 503, the catalogue stays available, nothing is charged, /readyz tells the cause, and the service recovers by itself.
 */
import { Cluster, Redis } from 'ioredis';
import { afterAll, describe, expect, test } from 'vitest';
import { whenReady } from '../../data/runtime/redis.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { MeteringUnavailable } from '../../gateway/api/metering/metering.ts';
import { admissionOf, createWorld, UNLIMITED } from '../gateway/api/metering/harness.ts';
import { codeOf, useService } from '../gateway/service.ts';
import { startRedis, startRedisCluster } from '../redis.ts';

interface Refusal {
  name: string;
  /** The error code of Redis. */
  says: string;
  /** What /readyz says. */
  cause: string;
  begin(control: Redis): Promise<unknown>;
  end(control: Redis): Promise<unknown>;
}

const REFUSALS: Refusal[] = [
  {
    name: 'out of memory',
    says: 'OOM',
    cause: 'Redis is full and refuses writes.',
    begin: (control) => control.config('SET', 'maxmemory', 1),
    end: (control) => control.config('SET', 'maxmemory', 0),
  },
  {
    name: 'a read-only replica',
    says: 'READONLY',
    cause: 'Redis is a read-only replica.',
    begin: (control) => control.replicaof('127.0.0.1', 1),
    end: (control) => control.replicaof('NO', 'ONE'),
  },
  {
    name: 'short of replicas',
    says: 'NOREPLICAS',
    cause: 'Redis has too few replicas to accept writes.',
    begin: (control) => control.config('SET', 'min-replicas-to-write', 1),
    end: (control) => control.config('SET', 'min-replicas-to-write', 0),
  },
  {
    name: 'busy with a script',
    says: 'BUSY',
    cause: 'Redis is busy with a script.',
    begin: async (control) => {
      await control.config('SET', 'busy-reply-threshold', 1);
      const stuck = control.duplicate();
      stuck.eval('while true do end', 0).catch(() => stuck.disconnect());
      await expect.poll(() => control.ping().catch(String)).toContain('BUSY');
    },
    end: async (control) => {
      await control.script('KILL');
      await expect.poll(() => control.ping().catch(String)).toBe('PONG');
    },
  },
  {
    name: 'denied by ACL',
    says: 'NOPERM',
    cause: 'Redis denies access.',
    begin: (control) => control.acl('SETUSER', 'default', '-@scripting', '-get'),
    end: (control) => control.acl('SETUSER', 'default', '+@all'),
  },
];

const WRITE = "return redis.call('SET', 'anything', 1)";

const service = await useService({ redis: await startRedis({ dedicated: true }) });
const owner = await service.account();
// Its user keeps all permissions while those of the default user change.
const control = new Redis({ path: new URL(service.redis.url).pathname });
afterAll(() => control.disconnect());
await control.acl('SETUSER', 'keeper', 'on', 'nopass', '+@all', '~*');
await control.auth('keeper', '');

const ready = () => service.get('/readyz');

describe.each(REFUSALS)('Redis is $name', ({ says, cause, begin, end }) => {
  const paid = () => service.get('/v1/countries/KEN', { key: owner.key });

  test(`${says}: keyed calls get 503 and Retry-After, the catalogue goes on, nothing is charged, /readyz tells the cause`, async () => {
    expect((await paid()).status).toBe(200);
    expect((await ready()).status).toBe(200);
    const before = await service.balance(owner);
    await begin(control);
    expect(await service.client.eval(WRITE, 0).catch(String)).toContain(says);
    const answers = await Promise.all([paid(), service.get('/v1/ping', { key: owner.key })]);
    const free = await service.get('/v1/indicators');
    const [unready, health] = [await ready(), await service.get('/healthz')];
    await end(control);
    for (const answer of answers) {
      expect(answer.status).toBe(503);
      expect(codeOf(answer)).toBe('unavailable');
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    }
    expect(unready.status).toBe(503);
    expect(unready.json).toMatchObject({ status: 'not ready', redis: false, causes: [cause] });
    expect([free.status, health.status]).toEqual([200, 200]);
    expect(await service.balance(owner)).toBe(before);
    expect((await paid()).status).toBe(200);
    expect(await service.balance(owner)).toBe(before - 1);
    const { status, json } = await ready();
    expect(status).toBe(200);
    expect(json).toMatchObject({ status: 'ready', redis: true });
    expect(json).not.toHaveProperty('causes');
  });
});

test('CLUSTERDOWN: every master is asked whether it takes writes; paid calls are refused while slots have no master, free of charge, and served when it is back', async () => {
  await using cluster = await startRedisCluster({ persistent: true, nodeTimeoutMs: 3_000 });
  const redis = await cluster.connect();
  const world = createWorld(redis, UNLIMITED);
  const customer = await world.customer();
  const pay = () => world.metering.admit(admissionOf(customer.apiKey));
  const place = await cluster.masterOf(redisKeys.account(customer.account_id));
  expect(await world.metering.fault()).toBeNull();
  const [, full] = redis instanceof Cluster ? redis.nodes('master') : [];
  await full?.config('SET', 'maxmemory', 1);
  expect(await world.metering.fault()).toBe('Redis is full and refuses writes.');
  await full?.config('SET', 'maxmemory', 0);
  expect(await world.metering.fault()).toBeNull();
  expect(await pay()).toMatchObject({ kind: 'admitted', balance: 99 });
  await cluster.kill(place);
  await expect(pay()).rejects.toThrow(MeteringUnavailable);
  expect(await world.metering.fault()).toBe('Redis is unreachable.');
  await cluster.restart(place);
  await expect.poll(() => pay().catch(() => null)).toMatchObject({ kind: 'admitted' });
  await world.metering.flush();
  const { credits } = await world.store.get(customer.account_id);
  expect(credits.balance).toBe(98);
  expect(redis).toBeInstanceOf(Cluster);
  expect(await whenReady(redis, 60_000)).toBe(true);
  await expect.poll(() => world.metering.fault()).toBeNull();
});
