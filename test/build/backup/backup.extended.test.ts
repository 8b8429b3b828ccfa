/** Long runs of the backup's suites: on a cluster, and with more kills. */
import { startRedisCluster } from '../../redis.ts';
import { describeBackup } from './backup-suite.ts';
import { describeKilledRestore } from './killed-suite.ts';

describeBackup('a cluster', startRedisCluster);
describeKilledRestore(12);
