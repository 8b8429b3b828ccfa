/** A Redis Cluster with replicas, on which everything runs that is imported afterwards. One file has it for itself. */
import { stopAfterTests } from '../after-tests.ts';
import { startRedisCluster, useRedisCluster } from '../redis.ts';

export const cluster = await stopAfterTests(startRedisCluster({ replicas: 1, nodeTimeoutMs: 10_000 }));
useRedisCluster(cluster);
