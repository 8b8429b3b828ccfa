/**
 * The tests of metering and accounts on a Redis Cluster of three masters with a replica each, where changes of money wait
 * for the replica. `cluster.ts` covers kills, and the command line adds nothing to what `account-store.test.ts` covers.
 */
import { describe } from 'vitest';
import '../admin/cluster.ts';

describe.each([
  ['address-meter', () => import('../gateway/api/metering/address-meter.test.ts')],
  ['admit', () => import('../gateway/api/metering/admit.test.ts')],
  ['windows', () => import('../gateway/api/metering/windows.test.ts')],
  ['demo-key', () => import('../gateway/commerce/demo-key.test.ts')],
  ['keys-and-orders', () => import('../gateway/commerce/keys-and-orders.test.ts')],
  ['account-store', () => import('../gateway/commerce/account-store.test.ts')],
])('%s', (_, load) => load().then(() => {}));
