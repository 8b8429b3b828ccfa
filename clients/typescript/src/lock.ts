/** `almanac.lock`: which edition a program was written against, and how to recognise it. The Python client reads the same file. */
import { LockError, Refused } from './errors.ts';
import { type Checkpoint, type LogKey, parseKey, parseKeys, readCheckpoint } from './receipts/checkpoints.ts';
import { type Json, membersOf, parseJson } from './receipts/exact-json.ts';
import { verifyOneLog } from './receipts/receipt.ts';
import type { Edition } from './records.ts';

const FORMAT = 'almanac-lock/1';
const MEMBERS = ['format', 'edition', 'published_at', 'root', 'keys', 'checkpoint'] as const;

/** A key of the log as it was published, and the sizes of the log for which it counts. */
export interface PinnedKey {
  /** `<name>+<id>+<base64>`. */
  key: string;
  from: number;
  to: number | null;
}

/** Pins an edition of the data. */
export interface Lock {
  edition: string;
  /** ISO 8601. */
  publishedAt: string;
  /** Of its Merkle tree: 64 hexadecimal digits. */
  root: string;
  keys: readonly PinnedKey[];
  /** The signed head of the log at that time; the log of today has to extend it. */
  checkpoint: string;
}

/** Reads the text of an `almanac.lock`. @throws {LockError} */
export function parseLock(text: string): Lock {
  try {
    const members = membersOf(parseJson(text), 'The lock', MEMBERS);
    if (members.format !== FORMAT) throw new LockError(`The lock is ${members.format}, not ${FORMAT}.`);
    const { edition, published_at: publishedAt, root, keys, checkpoint } = members;
    if (!Array.isArray(keys)) throw new LockError('The keys of the lock are not a list.');
    return {
      edition: textOf(edition, 'edition'),
      publishedAt: textOf(publishedAt, 'published_at'),
      root: textOf(root, 'root'),
      keys: keys.map(toPinnedKey),
      checkpoint: textOf(checkpoint, 'checkpoint'),
    };
  } catch (error) {
    throw asLockError(error, 'This is not an almanac.lock');
  }
}

function textOf(value: Json, name: string): string {
  if (typeof value !== 'string') throw new LockError(`The ${name} of the lock is not a text.`);
  return value;
}

function toPinnedKey(entry: Json): PinnedKey {
  const { key, from, to } = membersOf(entry, 'A key of the lock', ['key', 'from', 'to']);
  if (typeof from !== 'number' || (to !== null && typeof to !== 'number'))
    throw new LockError('A key of the lock does not say for which sizes it counts.');
  return { key: textOf(key, 'key'), from, to };
}

const asLockError = (error: unknown, what: string): unknown =>
  error instanceof Refused ? new LockError(`${what}: ${error.message}`, { cause: error }) : error;

/** The text of an `almanac.lock`, to be written to a file. */
export function formatLock({ edition, publishedAt, root, keys, checkpoint }: Lock): string {
  const pinned = keys.map(({ key, from, to }) => ({ key, from, to }));
  const members = { format: FORMAT, edition, published_at: publishedAt, root, keys: pinned, checkpoint };
  return `${JSON.stringify(members, null, 2)}\n`;
}

/** The pinned keys, to verify receipts with. @throws {LockError} */
export async function keysOf({ keys }: Lock): Promise<LogKey[]> {
  try {
    return await Promise.all(keys.map(({ key, from, to }) => parseKey(key, from, to)));
  } catch (error) {
    throw asLockError(error, 'The lock holds a wrong key');
  }
}

/** A lock of an edition, after the checkpoint is verified with the keys of the same moment. @throws {LockError} */
export async function pin(edition: Edition, keys: string, checkpoint: string): Promise<Lock> {
  try {
    const known = await parseKeys(keys);
    await readCheckpoint(checkpoint, known);
    const pinned = known.map(({ text, from, to }) => ({ key: text, from, to }));
    const { id, published_at: publishedAt, root } = edition;
    return { edition: id, publishedAt, root, keys: pinned, checkpoint };
  } catch (error) {
    throw asLockError(error, 'The log of the service does not hold');
  }
}

/** @throws {LockError} unless the service lists the pinned edition with the pinned root and time */
export function checkEdition(lock: Lock, editions: readonly Edition[]): void {
  const found = editions.find(({ id }) => id === lock.edition);
  if (found === undefined)
    throw new LockError(`The service has no edition ${lock.edition}, which the lock pins.`);
  const pinned = { root: lock.root, published_at: lock.publishedAt } as const;
  for (const name of ['root', 'published_at'] as const)
    if (found[name] !== pinned[name])
      throw new LockError(
        `Edition ${lock.edition} has the ${name} ${found[name]}, but the lock pins ${pinned[name]}: ` +
          'this is another service, or its history was changed.',
      );
}

/** The pinned and the present head of the log. */
export interface Heads {
  pinned: Checkpoint;
  present: Checkpoint;
}

/** Reads both heads, each with its keys. @throws {LockError} where a pinned key is gone, or a signature is wrong */
export async function checkLog(lock: Lock, keys: string, checkpoint: string): Promise<Heads> {
  const pinnedKeys = await keysOf(lock);
  try {
    const published = await parseKeys(keys);
    for (const { text, from, id } of pinnedKeys)
      if (!published.some((one) => one.text === text && one.from === from))
        throw new LockError(`The service no longer publishes the key ${id}, which the lock pins.`);
    const [pinned, present] = await Promise.all([
      readCheckpoint(lock.checkpoint, pinnedKeys),
      readCheckpoint(checkpoint, published),
    ]);
    if (present.size < pinned.size)
      throw new LockError('The log of the service is shorter than the one that the lock pins.');
    return { pinned, present };
  } catch (error) {
    throw asLockError(error, 'The log of the service does not hold');
  }
}

/** @throws {LockError} unless the log of today extends the one that the lock pins */
export async function checkGrowth({ pinned, present }: Heads, proof: string | undefined): Promise<void> {
  try {
    await verifyOneLog(pinned, present, proof);
  } catch (error) {
    throw asLockError(error, 'The log of the service does not extend the pinned one');
  }
}
