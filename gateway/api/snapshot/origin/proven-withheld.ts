/** Proves what an origin says is withheld: by its signature, and by what was seen before, because none is taken back. */
import { type LogKey, Refused } from '../../../../data/proofs/verify-receipt.ts';
import {
  parseWithheld,
  readWithheldNote,
  WITHHELD,
  type WithheldRecord,
} from '../../../../data/runtime/withheld.ts';
import { OriginError } from './origin-client.ts';

/**
 * @param keys public keys; one of them has signed it.
 * @param before what was proven last.
 * @throws {OriginError}
 */
export function proveWithheld(text: string, keys: readonly LogKey[], before: WithheldRecord): WithheldRecord {
  const record = parse(text);
  if (record.note === undefined) throw new OriginError(`${WITHHELD}: it is not signed`);
  const { signed_at, hash } = noteOf(record.note, keys);
  if (before.note === undefined) return record;
  const seen = noteOf(before.note, null);
  if (signed_at < seen.signed_at)
    throw new OriginError(`${WITHHELD}: signed at ${signed_at}, before the one that was seen`);
  if (signed_at === seen.signed_at && hash !== seen.hash)
    throw new OriginError(`${WITHHELD}: another than the one that was seen, signed at the same time`);
  return record;
}

function noteOf(note: string, keys: readonly LogKey[] | null) {
  try {
    return readWithheldNote(note, keys);
  } catch (error) {
    if (error instanceof Refused) throw new OriginError(`${WITHHELD}: ${error.message}`);
    throw error;
  }
}

function parse(text: string): WithheldRecord {
  try {
    return parseWithheld(text);
  } catch (error) {
    throw new OriginError(
      `${WITHHELD}: it cannot be read: ${error instanceof Error ? error.message : error}`,
    );
  }
}
