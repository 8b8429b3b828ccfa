/**
 * `<SNAPSHOT_DIR>/withheld.json`: series whose published figures were deleted because law forbids to publish them.
 *
 * Manifests and the lists that they name never change, because the log holds their hashes. So a list that named withheld
 * files is read as another one: it lacks them, and names redacted copies of the files that held figures of several series.
 * The roots of withheld series stay in `proofs/<provider>.json`: every proof of another figure still verifies.
 *
 * It is signed by the key of the log, so that gateways that follow an origin can tell what the builder withheld: a signed note
 * (C2SP) over the hash of its content, with a time that only grows. Its second line is no size, so it never counts as a
 * checkpoint. `docs/receipts.md` fixes its form.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { type SigningKey, signNote } from '../proofs/signing-key.ts';
import { canonicalJson, type Json, type LogKey, Refused, signersOf } from '../proofs/verify-receipt.ts';
import { indicatorId, timestamp } from '../schema/records.ts';
import { fileRef, type Manifest, providerOf, snapshotId } from '../schema/snapshot.ts';
import { whenAbsent } from './durable-files.ts';

export const WITHHELD = 'withheld.json';

const withheldRecord = z.object({
  decisions: z.array(
    z.object({
      /** An indicator id, or a provider id for all its series, later ones too. */
      subject: z.string(),
      reason: z.string(),
      withheld_at: timestamp,
    }),
  ),
  /** Which series were deleted from which snapshots. */
  tombstones: z.array(z.object({ snapshot: snapshotId, indicator: indicatorId })),
  /** What is read in place of a list, by its hash. */
  lists: z.record(z.string(), fileRef),
  /** Signs the other members. Absent until `LogSigner` writes the record. */
  note: z.string().optional(),
});
export type WithheldRecord = z.infer<typeof withheldRecord>;

export const NOTHING_WITHHELD: WithheldRecord = { decisions: [], tombstones: [], lists: {} };

/** Parses `withheld.json`. Verifies no signature. @throws {Error} unless it has the content that was signed. */
export function parseWithheld(text: string): WithheldRecord {
  const { note, ...content }: { [name: string]: Json } = JSON.parse(text);
  const record = withheldRecord.parse({ ...content, note });
  if (record.note !== undefined && readWithheldNote(record.note, null).hash !== withheldHash(content))
    throw new Error(`${WITHHELD} has another content than was signed`);
  return record;
}

/** When it was signed; null for a record without signature. */
export const signingTime = ({ note }: WithheldRecord): string | null =>
  note === undefined ? null : readWithheldNote(note, null).signed_at;

/** @param directory of the snapshots. @throws {Error} when the file is there and cannot be read. */
export async function readWithheld(directory: string): Promise<WithheldRecord> {
  const text = await readFile(join(directory, WITHHELD), 'utf8').catch(whenAbsent(null));
  return text === null ? NOTHING_WITHHELD : parseWithheld(text);
}

export const isWithheld = ({ decisions }: WithheldRecord, indicator: string): boolean =>
  decisions.some(({ subject }) => subject === indicator || subject === providerOf(indicator));

/** A manifest that names the lists to read. */
export const withReplacedLists = (manifest: Manifest, { lists }: WithheldRecord): Manifest => ({
  ...manifest,
  providers: Object.fromEntries(
    Object.entries(manifest.providers).map(([provider, ref]) => [provider, lists[ref.sha256] ?? ref]),
  ),
});

const NOTE =
  /^(([^\n]+)\nwithheld\n(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00)\n([A-Za-z0-9+/]{43}=)\n)\n((?:— \S+ \S+\n)+)$/;

export const withheldHash = (content: Json): string =>
  createHash('sha256').update(canonicalJson(content)).digest('base64');

export const signWithheld = (key: SigningKey, content: Json, signed_at: string): string =>
  signNote(key, `${key.name}\nwithheld\n${signed_at}\n${withheldHash(content)}\n`);

/**
 * Reads a note, and verifies every signature by one of `keys` that is in use.
 * @param keys null: no signature is verified
 * @returns when it was signed, which sorts by time, and the hash of the content, in base64
 * @throws {Refused}
 */
export function readWithheldNote(note: string, keys: readonly LogKey[] | null) {
  const [, text, origin, signed_at, hash, lines] = NOTE.exec(note) ?? [];
  if (!text || !signed_at || !hash || !lines)
    throw new Refused('The note of what is withheld is not in the form of one.');
  if (keys === null) return { signed_at, hash };
  const inUse = keys.filter(({ name, to }) => name === origin && to === null);
  if (signersOf('the note of what is withheld', text, lines, inUse).length === 0)
    throw new Refused(`No known key in use has signed the note of what is withheld of ${origin}.`);
  return { signed_at, hash };
}
