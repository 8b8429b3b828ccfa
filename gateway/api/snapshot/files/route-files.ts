/**
 * The prerendered bodies of a snapshot in each content coding.
 *
 * An entity tag is the SHA-256 of the bytes sent, taken from the list of files: strong, different for each coding, and known
 * without opening the file. The five complete lists stay in memory; details are cached within a budget.
 */
import { ENCODING_SUFFIX, ROUTE_FILES } from '../../../../data/schema/snapshot.ts';
import { ByteCache } from './memory.ts';
import type { SnapshotFiles } from './snapshot-files.ts';

export type Encoding = keyof typeof ENCODING_SUFFIX | 'identity';
const ENCODINGS: readonly Encoding[] = ['br', 'zstd', 'gzip', 'identity'];
const suffixOf = (encoding: Encoding): string => (encoding === 'identity' ? '' : ENCODING_SUFFIX[encoding]);

const DETAIL_BUDGET_BYTES = 12 * 1024 * 1024;
/** 132 bits of the digest rule out collisions. */
const TAG_HEX_DIGITS = 33;

export class RouteFiles {
  readonly #files: SnapshotFiles;
  /** The whole lists in each coding, by file name. */
  readonly #resident: ReadonlyMap<string, Buffer>;
  readonly #details: ByteCache<Buffer>;

  private constructor(files: SnapshotFiles, resident: ReadonlyMap<string, Buffer>, processCount: number) {
    this.#files = files;
    this.#resident = resident;
    this.#details = new ByteCache(DETAIL_BUDGET_BYTES / processCount, ({ byteLength }) => byteLength);
  }

  /** @param processCount how many processes have the budget for details together. */
  static async open(files: SnapshotFiles, processCount: number): Promise<RouteFiles> {
    const names = Object.values(ROUTE_FILES).flatMap((path) =>
      ENCODINGS.map((encoding) => path + suffixOf(encoding)),
    );
    const read = async (name: string) => [name, await files.read(name)] as const;
    const resident = new Map(await Promise.all(names.map(read)));
    return new RouteFiles(files, resident, processCount);
  }

  /** Whether a body is always in memory. */
  isResident(path: string): boolean {
    return this.#resident.has(path);
  }

  /** The bytes of one coding of a body; at once when they are in memory. @throws {SnapshotUnreadable} */
  bytes(path: string, encoding: Encoding): Buffer | Promise<Buffer> {
    const name = path + suffixOf(encoding);
    return this.#resident.get(name) ?? this.#details.getOrMake(name, () => this.#files.read(name));
  }

  /** The strong entity tag of one coding of a body. @throws when the snapshot has no such file. */
  tag(path: string, encoding: Encoding): string {
    const name = path + suffixOf(encoding);
    const file = this.#files.prerendered[name];
    if (!file) throw new Error(`the snapshot has no ${name}`);
    return `"${file.sha256.slice(0, TAG_HEX_DIGITS)}"`;
  }
}
