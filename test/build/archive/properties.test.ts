/** A short run of the archive's properties; `archive.extended.test.ts` has long ones, also on a cluster. */
import { startRedis } from '../../redis.ts';
import { describeArchiveProperties } from './properties-suite.ts';

describeArchiveProperties('one Redis', startRedis, { histories: 2, concurrentRuns: 1 });
