/**
 * The tests of metering and accounts on a Redis Cluster of three masters with a replica each, where changes of money wait
 * for the replica. `cluster.ts` covers kills, and the command line adds nothing to what `account-store.test.ts` covers.
 */
import { describe } from 'vitest';
import '../admin/cluster.ts';

describe.each([
  'api/metering/address-meter',
  'api/metering/admit',
  'api/metering/windows',
  'commerce/demo-key',
  'commerce/keys-and-orders',
  'commerce/account-store',
])('%s', (name) => import(`../gateway/${name}.test.ts`).then(() => {}));
