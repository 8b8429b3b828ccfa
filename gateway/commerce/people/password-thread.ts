/** Worker thread: hashes passwords, one after the other. */
import { type ScryptOptions, scryptSync } from 'node:crypto';
import { constants } from 'node:os';
import { serveJobs } from '../../../data/runtime/job-thread.ts';

export interface HashJob {
  password: string;
  salt: Uint8Array;
  bytes: number;
  options: ScryptOptions;
}

serveJobs(constants.priority.PRIORITY_BELOW_NORMAL, ({ password, salt, bytes, options }: HashJob) =>
  scryptSync(password, salt, bytes, options),
);
