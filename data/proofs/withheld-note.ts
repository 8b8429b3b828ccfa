/**
 * The signature of `withheld.json`: a signed note (C2SP) over the hash of its content, with a time that only grows. Its
 * second line is no size, so it never counts as a checkpoint. `docs/receipts.md` fixes its form.
 */
import { createHash } from 'node:crypto';
import { type SigningKey, signNote } from './signing-key.ts';
import { canonicalJson, type Json, type LogKey, Refused, signersOf } from './verify-receipt.ts';

const SUBJECT = 'withheld';
const NOTE =
  /^(([^\n]+)\nwithheld\n(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00)\n([A-Za-z0-9+/]{43}=)\n)\n((?:— \S+ \S+\n)+)$/;

export interface WithheldNote {
  /** Sorts by time. */
  signed_at: string;
  /** The hash of the content, in base64. */
  hash: string;
}

export const withheldHash = (content: Json): string =>
  createHash('sha256').update(canonicalJson(content)).digest('base64');

export const signWithheld = (key: SigningKey, content: Json, signed_at: string): string =>
  signNote(key, `${key.name}\n${SUBJECT}\n${signed_at}\n${withheldHash(content)}\n`);

/**
 * Reads a note, and verifies every signature by one of `keys` that is in use.
 * @param keys null: no signature is verified
 * @throws {Refused}
 */
export function readWithheldNote(note: string, keys: readonly LogKey[] | null): WithheldNote {
  const [, text, origin, signed_at, hash, lines] = NOTE.exec(note) ?? [];
  if (!text || !signed_at || !hash || !lines)
    throw new Refused('The note of what is withheld is not in the form of one.');
  if (keys === null) return { signed_at, hash };
  const inUse = keys.filter(({ name, to }) => name === origin && to === null);
  if (signersOf('the note of what is withheld', text, lines, inUse).length === 0)
    throw new Refused(`No known key in use has signed the note of what is withheld of ${origin}.`);
  return { signed_at, hash };
}
