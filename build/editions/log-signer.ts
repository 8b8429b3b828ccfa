/**
 * Signs the log of editions, and what is withheld. The private key lies outside SNAPSHOT_DIR: only the builder has it.
 *
 * It never signs two logs that contradict each other. The last signed head is remembered beside the key, and a log that
 * does not extend it is refused: it was restored from a copy that lacks signed editions. The head is written before the
 * log becomes public, with the log itself: what a crash between them leaves is published by the next build.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { editionLeaf, MerkleTree } from '../../data/proofs/merkle-tree.ts';
import {
  generateSigningKey,
  parseSigningKey,
  type SigningKey,
  signCheckpoint,
} from '../../data/proofs/signing-key.ts';
import { readCheckpoint } from '../../data/proofs/verify-receipt.ts';
import { replaceFile, syncDirectory, whenAbsent, writeFlushed } from '../../data/runtime/durable-files.ts';
import type { Settings } from '../../data/runtime/settings.ts';
import { signingTime, signWithheld, type WithheldRecord } from '../../data/runtime/withheld.ts';
import { PUBLISHED_KEYS, type PublishedKeys, publishedKeys } from '../../data/schema/proofs.ts';
import { formatTimestamp } from '../../data/schema/records.ts';
import { type LogEntry, publicationLog } from '../../data/schema/snapshot.ts';
import { CommandError } from '../runtime/errors.ts';
import type { SnapshotStorage } from './snapshot-storage.ts';

export type SigningSettings = Pick<Settings, 'SIGNING_DIR'> &
  Partial<Pick<Settings, 'SIGNING_KEY' | 'PUBLIC_URL'>>;

export const SIGNED_HEAD = 'head';
/** A log that is signed and may not be public yet. */
const PENDING_LOG = 'pending.json';

/** The last checkpoint that was signed, in a signing directory or a copy of one; null before the first. */
export const readSignedHead = (directory: string): Promise<string | null> =>
  readFile(join(directory, SIGNED_HEAD), 'utf8').catch(whenAbsent(null));

/** How a log with these editions contradicts a signed head; null when it extends or equals it. */
export function contradiction(editions: readonly LogEntry[], signed: string): string | null {
  const head = readCheckpoint(signed, null);
  if (editions.length < head.size) return `fewer than the ${head.size} that were signed`;
  const isSame = buildTree(editions.slice(0, head.size)).root.equals(head.root);
  return isSame ? null : 'others than those that were signed';
}

const buildTree = (editions: readonly LogEntry[]): MerkleTree => MerkleTree.of(editions.map(editionLeaf));

export class LogSigner {
  readonly #settings: SigningSettings;
  readonly #storage: SnapshotStorage;

  readonly #keyFile: string;
  readonly #pendingFile: string;

  constructor(settings: SigningSettings, storage: SnapshotStorage) {
    this.#settings = settings;
    this.#storage = storage;
    this.#keyFile = join(settings.SIGNING_DIR, 'key');
    this.#pendingFile = join(settings.SIGNING_DIR, PENDING_LOG);
  }

  /**
   * Publishes the log that was signed last, where a crash came between. The editions that it adds were never served.
   * @throws {CommandError} when the log would contradict one that was signed.
   */
  async recover(): Promise<void> {
    await this.#storage.whilePointerStays(async () => {
      const text = await readFile(this.#pendingFile, 'utf8').catch(whenAbsent(null));
      const { editions, rollbacks } = await this.#storage.log();
      if (text === null) return this.#assertExtends(editions);
      const pending = publicationLog.parse(JSON.parse(text));
      const isAhead =
        pending.editions.length > editions.length &&
        (editions.length === 0 ||
          buildTree(pending.editions.slice(0, editions.length)).root.equals(buildTree(editions).root));
      // In a copy that was restored, manifests of later editions are missing.
      const sealed = new Set(await this.#storage.sealedIds());
      if (isAhead && pending.editions.every(({ edition }) => sealed.has(edition)))
        await this.#storage.writeLog({ ...pending, rollbacks });
      await rm(this.#pendingFile);
      await this.#assertExtends((await this.#storage.log()).editions);
    });
  }

  async #assertExtends(editions: readonly LogEntry[]): Promise<void> {
    const signed = await readSignedHead(this.#settings.SIGNING_DIR);
    const reason = signed === null ? null : contradiction(editions, signed);
    if (reason === null) return;
    throw new CommandError(
      `the log has ${editions.length} editions, ${reason}: restore the newest copy of ${this.#storage.directory}, ` +
        'or see "Keys" in docs/receipts.md',
    );
  }

  /**
   * Publishes a log: keys, what is withheld under the same key, the memory of its head, then the log. The caller keeps the
   * pointer where it is.
   * @throws {CommandError} instead of a fork
   */
  readonly commit = async (editions: readonly LogEntry[]): Promise<void> => {
    await this.#assertExtends(editions);
    const published = await this.#published();
    const key = await this.#key(published);
    await this.#publishKeys(published, key, editions.length);
    await this.#renewWithheld(key);
    const checkpoint = signCheckpoint(key, buildTree(editions));
    const { rollbacks } = await this.#storage.log();
    const log = { editions: [...editions], checkpoint, rollbacks };
    await replaceFile(this.#pendingFile, JSON.stringify(log));
    await replaceFile(join(this.#settings.SIGNING_DIR, SIGNED_HEAD), checkpoint);
    await this.#storage.writeLog(log);
    await rm(this.#pendingFile);
  };

  /** Signs what is withheld, later than what was signed before, and writes it. */
  async writeWithheld(record: WithheldRecord, now_ms: number): Promise<void> {
    const key = await this.#key(await this.#published());
    const before = signingTime(await this.#storage.withheld());
    const least_ms = before === null ? 0 : Date.parse(before) + 1_000;
    const signed_at = formatTimestamp(Math.max(now_ms, least_ms));
    await this.#storage.writeWithheld(signed(record, key, signed_at));
  }

  /** Signs what is withheld by the key in use, where another one or none has signed it. */
  async #renewWithheld(key: SigningKey): Promise<void> {
    const record = await this.#storage.withheld();
    const signed_at = signingTime(record) ?? record.decisions.at(-1)?.withheld_at;
    if (signed_at === undefined) return;
    const renewed = signed(record, key, signed_at);
    if (renewed.note !== record.note) await this.#storage.writeWithheld(renewed);
  }

  /**
   * Makes a new key of the same name, with which the next publication signs.
   * @returns its id; and the key itself where it is set as SIGNING_KEY, so that the operator has to replace it.
   */
  async rotate(): Promise<{ id: string; setting?: string }> {
    const text = generateSigningKey((await this.#key(await this.#published())).name);
    const { id } = parseSigningKey(text);
    if (this.#settings.SIGNING_KEY !== undefined) return { id, setting: text };
    await this.#writeKey(text);
    return { id };
  }

  async #published(): Promise<PublishedKeys | null> {
    const file = join(this.#storage.directory, PUBLISHED_KEYS);
    const text = await readFile(file, 'utf8').catch(whenAbsent(null));
    return text === null ? null : publishedKeys.parse(JSON.parse(text));
  }

  /** The private key; made when there is none. */
  async #key(published: PublishedKeys | null): Promise<SigningKey> {
    await mkdir(this.#settings.SIGNING_DIR, { recursive: true, mode: 0o700 });
    const given =
      this.#settings.SIGNING_KEY ?? (await readFile(this.#keyFile, 'utf8').catch(whenAbsent(null)));
    const text = given ?? generateSigningKey(published?.origin ?? this.#newName());
    if (given === null) await this.#writeKey(text);
    const key = parseSigningKey(text);
    if (published !== null && key.name !== published.origin)
      throw new CommandError(
        `the signing key is of the log ${key.name}, but ${published.origin} is published`,
      );
    return key;
  }

  #newName(): string {
    const { PUBLIC_URL: url } = this.#settings;
    if (url === undefined) return `almanac/${randomBytes(4).toString('hex')}`;
    const { host, pathname } = new URL(url);
    return `${host}${pathname.replace(/\/$/, '')}/log`.replaceAll(/[+\s]/g, '-');
  }

  async #writeKey(text: string): Promise<void> {
    const draft = `${this.#keyFile}.tmp`;
    await rm(draft, { force: true });
    await writeFlushed(draft, `${text}\n`, 0o600);
    await rename(draft, this.#keyFile);
    await syncDirectory(this.#settings.SIGNING_DIR);
  }

  /** Names the key as the one that counts from `size` on, unless it does already. */
  async #publishKeys(
    published: PublishedKeys | null,
    { name, publicKey }: SigningKey,
    size: number,
  ): Promise<void> {
    // A key that was replaced before it signed anything counts for no size.
    const used = (published?.keys ?? []).filter(({ from, key }) => from < size || key === publicKey);
    if (used.at(-1)?.key === publicKey) return;
    const ended = used.map((one) => (one.to === null ? { ...one, to: size - 1 } : one));
    const list: PublishedKeys = { origin: name, keys: [...ended, { key: publicKey, from: size, to: null }] };
    await replaceFile(join(this.#storage.directory, PUBLISHED_KEYS), JSON.stringify(list));
  }
}

function signed({ note: _, ...content }: WithheldRecord, key: SigningKey, signed_at: string): WithheldRecord {
  return { ...content, note: signWithheld(key, JSON.parse(JSON.stringify(content)), signed_at) };
}
