/** `REDIS_WAIT_REPLICAS`: an acknowledged charge is held by a replica; any other is reversed. */
import { Redis } from 'ioredis';
import { beforeEach, describe, expect, it } from 'vitest';
import { redisKeys } from '../../../../data/schema/redis-keys.ts';
import { MeteringUnavailable } from '../../../../gateway/api/metering/metering.ts';
import { stopAfterTests } from '../../../after-tests.ts';
import { startRedisCluster } from '../../../redis.ts';
import { admissionOf, booksOf, type Customer, createWorld, UNLIMITED, type World } from './harness.ts';

let world: World;
let customer: Customer;
let replica: Redis;
let replicaPort: number;
const cluster = await stopAfterTests(startRedisCluster({ replicas: 1, nodeTimeoutMs: 6_000 }));
beforeEach(async () => {
  world = createWorld(await cluster.connect(1), UNLIMITED);
  customer = await world.customer({ credits: 10_000 });
  replicaPort = await cluster.replicaOf(redisKeys.account(customer.account_id));
  replica = new Redis({ port: replicaPort, host: '127.0.0.1', readOnly: true });
  return () => replica.disconnect();
});

const balanceOnReplica = async (): Promise<number> =>
  Number(await replica.hget(redisKeys.account(customer.account_id), 'balance'));
const pay = (price = 1) => world.metering.admit(admissionOf(customer.apiKey, { price }));

describe('a charge that waits for a replica', () => {
  it('is on the replica when it is acknowledged', async () => {
    for (let call = 0; call < 200; call++) {
      const verdict = await pay();
      if (verdict.kind !== 'admitted') throw new Error(verdict.kind);
      expect(await balanceOnReplica()).toBe(verdict.balance);
    }
    const { balance } = await world.store.grant(customer.account_id, { credits: 7, by: 'test' });
    expect(await balanceOnReplica()).toBe(balance);
    const { order_id } = await world.store.orders.create(customer.account_id, 'small');
    const bought = await world.store.orders.move(order_id, 'paid');
    expect(await balanceOnReplica()).toBe(bought.balance);
  });

  it('shares one WAIT with concurrent charges', async () => {
    await pay();
    const master = new Redis({
      port: await cluster.masterOf(redisKeys.account(customer.account_id)),
      host: '127.0.0.1',
    });
    const waits = async (): Promise<number> =>
      Number(/cmdstat_wait:calls=(\d+)/.exec(await master.info('commandstats'))?.[1]);
    const before = await waits();
    const verdicts = await Promise.all(Array.from({ length: 500 }, () => pay()));
    expect(new Set(verdicts.map(({ kind }) => kind))).toEqual(new Set(['admitted']));
    expect((await waits()) - before).toBeLessThan(10);
    master.disconnect();
    expect(await booksOf(world, customer.account_id)).toMatchObject({ debits: 501, balance: 9499 });
  });

  it('fails while no replica answers, and is reversed when one does', async () => {
    await pay();
    cluster.freeze(replicaPort);
    try {
      await expect(pay(5)).rejects.toThrow(MeteringUnavailable);
      const grant = world.store.grant(customer.account_id, { credits: 3, by: 'test', idem: 'once' });
      await expect(grant).rejects.toMatchObject({ code: 'unavailable' });
      // A free call does not wait for replicas.
      expect(await pay(0)).toMatchObject({ kind: 'admitted', charged: 0 });
    } finally {
      cluster.thaw(replicaPort);
    }
    await expect
      .poll(() => world.metering.flush().then(() => booksOf(world, customer.account_id)))
      .toMatchObject({ spent: 1, balance: 10_002, ledger: 10_002 });
    // A grant of unknown outcome is repeated under its idempotency key and returns the first result.
    const again = await world.store.grant(customer.account_id, { credits: 3, by: 'test', idem: 'once' });
    expect(again).toMatchObject({ repeated: true, balance: 9997 });
    expect(await balanceOnReplica()).toBe(10_002);
  });

  it('follows its keys to a new master', async () => {
    await pay();
    const promoted = new Redis({ port: replicaPort, host: '127.0.0.1' });
    await promoted.call('CLUSTER', 'FAILOVER');
    await expect.poll(() => cluster.masterOf(redisKeys.account(customer.account_id))).toBe(replicaPort);
    expect(await pay(5)).toMatchObject({ kind: 'admitted', balance: 9994 });
    expect(await booksOf(world, customer.account_id)).toMatchObject({ debits: 2, balance: 9994 });
    promoted.disconnect();
  });
});
