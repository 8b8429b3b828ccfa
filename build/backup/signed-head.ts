/** Keeps a restore from forking the signed log: what this machine remembers to have signed stays part of it. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readCheckpoint } from '../../data/proofs/verify-receipt.ts';
import { PUBLICATION_LOG, publicationLog } from '../../data/schema/snapshot.ts';
import { contradiction, readSignedHead } from '../editions/log-signer.ts';
import { CommandError } from '../runtime/errors.ts';

/**
 * Compares the head that this machine signed last with a backup.
 * @returns whether it is at least as new as the head in the backup, and stays.
 * @throws {CommandError} when the log in the backup does not extend it.
 */
export async function keepsOwnHead(signingDir: string, backup: string): Promise<boolean> {
  const own = await readSignedHead(signingDir);
  if (own === null) return false;
  const text = await readFile(join(backup, 'snapshots', PUBLICATION_LOG), 'utf8').catch(() => null);
  const editions = text === null ? [] : publicationLog.parse(JSON.parse(text)).editions;
  const reason = contradiction(editions, own);
  if (reason !== null)
    throw new CommandError(
      `the log in the backup has ${editions.length} editions, ${reason} here (${signingDir}): ` +
        'restore a newer backup, or see "Keys" in docs/receipts.md',
    );
  const copied = await readSignedHead(join(backup, 'signing'));
  return copied === null || readCheckpoint(own, null).size >= readCheckpoint(copied, null).size;
}
