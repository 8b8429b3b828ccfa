/** Worker thread: hashes passwords, one after the other. */
import { type ScryptOptions, scryptSync } from 'node:crypto';
import { constants, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';

export interface HashJob {
  password: string;
  salt: Uint8Array;
  bytes: number;
  options: ScryptOptions;
}

// On Linux a priority belongs to a thread: calls of the API come first wherever processors are short.
if (process.platform === 'linux') setPriority(0, constants.priority.PRIORITY_BELOW_NORMAL);

parentPort?.on('message', ({ password, salt, bytes, options }: HashJob) => {
  parentPort?.postMessage(scryptSync(password, salt, bytes, options));
});
