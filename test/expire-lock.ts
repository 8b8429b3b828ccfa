/** Makes a crashed process' lock stale at once, instead of waiting for it. */
import { utimes } from 'node:fs/promises';
import { STALE_MS } from '../data/runtime/file-lock.ts';

/** Does nothing when the file does not exist. */
export async function expireLock(file: string): Promise<void> {
  const stale = new Date(Date.now() - STALE_MS - 1_000);
  await utimes(file, stale, stale).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}
