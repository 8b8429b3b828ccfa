/** The job worker on one Redis. */
import { startRedis } from '../../redis.ts';
import { testJobWorker } from './job-worker-suite.ts';

testJobWorker('a job worker on one Redis', startRedis, false);
