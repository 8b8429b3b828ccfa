/**
 * The tests of metering and accounts on a Redis Cluster of three masters with a replica each, where changes of money wait
 * for the replica. `cluster.ts` covers kills, and the command line adds nothing to what `account-store.test.ts` covers.
 */
import { afterAll, beforeAll, describe } from 'vitest';
import { startRedisCluster, type TestCluster, useRedisCluster } from '../redis.ts';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await startRedisCluster({ replicas: 1, nodeTimeoutMs: 10_000 });
  useRedisCluster(cluster);
});
afterAll(() => cluster.stop());

describe('metering/address-meter', () =>
  import('../gateway/api/metering/address-meter.test.ts').then(() => {}));
describe('metering/admit', () => import('../gateway/api/metering/admit.test.ts').then(() => {}));
describe('metering/windows', () => import('../gateway/api/metering/windows.test.ts').then(() => {}));
describe('account/demo', () => import('../gateway/commerce/demo-key.test.ts').then(() => {}));
describe('account/keys-and-orders', () =>
  import('../gateway/commerce/keys-and-orders.test.ts').then(() => {}));
describe('account/store', () => import('../gateway/commerce/account-store.test.ts').then(() => {}));
