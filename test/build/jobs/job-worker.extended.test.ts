/** The job worker on a Redis cluster. */
import { startRedisCluster } from '../../redis.ts';
import { testJobWorker } from './job-worker-suite.ts';

testJobWorker('a job worker on a Redis cluster', startRedisCluster, true);
