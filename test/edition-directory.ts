/** A directory of published editions in the stored layout, made by hand and signed: small files with any content. */
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { editionLeaf, MerkleTree } from '../data/proofs/merkle-tree.ts';
import {
  generateSigningKey,
  parseSigningKey,
  type SigningKey,
  signCheckpoint,
} from '../data/proofs/signing-key.ts';
import { signWithheld, WITHHELD, type WithheldRecord } from '../data/runtime/withheld.ts';
import {
  CURRENT_POINTER,
  type FileList,
  type FileRef,
  type LogEntry,
  type Manifest,
  manifestPath,
  objectPath,
  PUBLICATION_LOG,
  type PublicationLog,
  providerOfFile,
  SNAPSHOT_FORMAT,
} from '../data/schema/snapshot.ts';

const sha256 = (content: string): string => createHash('sha256').update(content).digest('hex');
const NO_COUNTS = { providers: 0, indicators: 1, countries: 0, observations: 0 };

export type Files = Record<string, string>;

export class EditionDirectory {
  readonly directory: string;
  readonly key: SigningKey;
  #published = 0;

  private constructor(directory: string, key: SigningKey) {
    this.directory = directory;
    this.key = key;
  }

  static async create(key = parseSigningKey(generateSigningKey('almanac.test'))): Promise<EditionDirectory> {
    return new EditionDirectory(await mkdtemp(join(tmpdir(), 'alm-editions-')), key);
  }

  /**
   * Publishes an edition with these files by name, those below `routes/` prerendered.
   * @param change of the manifest. @returns its id
   */
  async publish(files: Files, change: (manifest: Manifest) => Manifest = (same) => same): Promise<string> {
    this.#published += 1;
    const minute = String(this.#published).padStart(2, '0');
    const id = `20261120T02${minute}00Z-${sha256(JSON.stringify(files)).slice(0, 8)}`;
    const refs = await Promise.all(
      Object.entries(files).map(async ([name, content]) => [name, await this.putObject(content)] as const),
    );
    const prerendered = refs.filter(([name]) => name.startsWith('routes/'));
    const kept = refs.filter(([name]) => !name.startsWith('routes/'));
    const byProvider = Map.groupBy(kept, ([name]) => providerOfFile(name));
    const providers: FileList = {};
    for (const [provider, list] of byProvider)
      if (provider !== null)
        providers[provider] = await this.putObject(JSON.stringify(Object.fromEntries(list)));
    const lineage = { base: await this.current(), changes: null, changed: {} };
    const manifest = change({
      format: SNAPSHOT_FORMAT,
      id,
      generated_at: `2026-11-20T02:${minute}:00+00:00`,
      counts: NO_COUNTS,
      runs: {},
      content: sha256(id),
      providers,
      kept: Object.fromEntries(byProvider.get(null) ?? []),
      prerendered: await this.putObject(JSON.stringify(Object.fromEntries(prerendered))),
      lineage,
    });
    const text = JSON.stringify(manifest);
    await this.write(manifestPath(id), text);
    await this.#enter({
      edition: id,
      published_at: manifest.generated_at,
      indicators: 1,
      root: sha256(`root ${id}`),
      manifest: sha256(text),
      counts: NO_COUNTS,
      ...lineage,
    });
    await this.serve(id);
    return id;
  }

  /** Moves the pointer. */
  async serve(id: string): Promise<void> {
    await this.write(CURRENT_POINTER, id);
  }

  async log(): Promise<PublicationLog> {
    const text = await readFile(join(this.directory, PUBLICATION_LOG), 'utf8').catch(() => null);
    return text === null ? { editions: [], checkpoint: '', rollbacks: [] } : JSON.parse(text);
  }

  /** Replaces the log by these editions under a checkpoint of this or another key. */
  async sign(editions: readonly LogEntry[], key = this.key): Promise<void> {
    const { root } = MerkleTree.of(editions.map(editionLeaf));
    const checkpoint = signCheckpoint(key, { size: editions.length, root });
    await this.write(PUBLICATION_LOG, JSON.stringify({ editions, checkpoint }));
  }

  /** Writes `withheld.json`, signed by this or another key. */
  async withhold(content: WithheldRecord, signed_at: string, key = this.key): Promise<void> {
    const note = signWithheld(key, JSON.parse(JSON.stringify(content)), signed_at);
    await this.write(WITHHELD, JSON.stringify({ ...content, note }));
  }

  async current(): Promise<string | null> {
    return readFile(join(this.directory, CURRENT_POINTER), 'utf8').catch(() => null);
  }

  async putObject(content: string): Promise<FileRef> {
    const ref = { bytes: Buffer.byteLength(content), sha256: sha256(content) };
    await this.write(objectPath(ref.sha256), content);
    return ref;
  }

  async write(path: string, content: string): Promise<void> {
    const file = join(this.directory, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }

  remove(): Promise<void> {
    return rm(this.directory, { recursive: true, force: true });
  }

  async #enter(entry: LogEntry): Promise<void> {
    await this.sign([...(await this.log()).editions, entry]);
  }
}

/** The paths of all objects that hold these contents. */
export const objectOf = (content: string): string => objectPath(sha256(content));
