/** Long runs of the archive's suites: on a cluster, with more random histories and more kills. */
import { startRedis, startRedisCluster } from '../../redis.ts';
import { describeArchive } from './archive-suite.ts';
import { testKilledArchive } from './killed-suite.ts';
import { describeArchiveProperties } from './properties-suite.ts';
import { describeReadBack } from './read-back-suite.ts';

describeArchive('a cluster', startRedisCluster);
describeArchiveProperties('one Redis', startRedis, { histories: 6, concurrentRuns: 3 });
describeArchiveProperties('a cluster', startRedisCluster, { histories: 2, concurrentRuns: 3 });
describeReadBack(5);
testKilledArchive(15);
