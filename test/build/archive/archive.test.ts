/** The archive on one Redis; `archive.extended.test.ts` repeats this on a cluster. */
import { startRedis } from '../../redis.ts';
import { describeArchive } from './archive-suite.ts';

describeArchive('one Redis', startRedis);
