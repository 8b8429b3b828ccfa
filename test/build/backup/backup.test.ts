/** Backup and restore of one Redis; `backup.extended.test.ts` repeats this on a cluster. */
import { startRedis } from '../../redis.ts';
import { describeBackup } from './backup-suite.ts';

describeBackup('one Redis', startRedis);
