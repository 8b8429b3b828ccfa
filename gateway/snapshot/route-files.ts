/**
 * The prerendered bodies of a snapshot with their content codings.
 *
 * An entity tag is the SHA-256 of the very bytes sent, out of the manifest, so it is strong, differs by coding, and
 * is known without opening the file. The five whole-list bodies stay in memory; details come and go within a budget.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ENCODING_SUFFIX, type Manifest, ROUTE_FILES } from '../../data/schema/snapshot.ts';
import { ByteCache } from './byte-cache.ts';

export type Encoding = keyof typeof ENCODING_SUFFIX | 'identity';
const ENCODINGS: readonly Encoding[] = ['br', 'zstd', 'gzip', 'identity'];
const suffixOf = (encoding: Encoding): string => (encoding === 'identity' ? '' : ENCODING_SUFFIX[encoding]);

const DETAIL_BUDGET_BYTES = 24 * 1024 * 1024;
/**
 * Up to here a body is kept as text, too, because Node sends text, and only text, in one write with its headers: measured,
 * a tenth of all that an answer costs. Beyond, Node has no room for both on its stack, and text is the dearer one.
 */
export const TEXT_MAX_BYTES = 12 * 1024;
/** 132 bits of the digest: no two bodies of one service ever meet there. */
const TAG_HEX_DIGITS = 33;

const byEncoding = <Kept>(make: () => Kept): Record<Encoding, Kept> => ({
  br: make(),
  zstd: make(),
  gzip: make(),
  identity: make(),
});

export class RouteFiles {
  readonly #directory: string;
  readonly #manifest: Manifest;
  /** What is asked for most, by coding, then by path: asking makes no new text, whose hash would have to be found anew. */
  readonly #resident: Readonly<Record<Encoding, ReadonlyMap<string, Buffer>>>;
  readonly #tags: Readonly<Record<Encoding, Map<string, string>>> = byEncoding(() => new Map());
  readonly #details: ByteCache<Buffer>;

  private constructor(
    directory: string,
    manifest: Manifest,
    resident: Readonly<Record<Encoding, ReadonlyMap<string, Buffer>>>,
    sharers: number,
  ) {
    this.#directory = directory;
    this.#manifest = manifest;
    this.#resident = resident;
    this.#details = new ByteCache(DETAIL_BUDGET_BYTES / sharers, ({ byteLength }) =>
      byteLength > TEXT_MAX_BYTES ? byteLength : 2 * byteLength,
    );
  }

  /** @param sharers how many processes have the budget for details together. */
  static async open(directory: string, manifest: Manifest, sharers: number): Promise<RouteFiles> {
    const resident = byEncoding(() => new Map<string, Buffer>());
    const read = async (path: string, encoding: Encoding): Promise<void> => {
      resident[encoding].set(path, await readFile(join(directory, path + suffixOf(encoding))));
    };
    const paths = Object.values(ROUTE_FILES);
    await Promise.all(paths.flatMap((path) => ENCODINGS.map((encoding) => read(path, encoding))));
    return new RouteFiles(directory, manifest, resident, sharers);
  }

  /** The bytes of one coding of a body; at once when they are in memory. */
  bytes(path: string, encoding: Encoding): Buffer | Promise<Buffer> {
    const resident = this.#resident[encoding].get(path);
    if (resident !== undefined) return resident;
    const name = path + suffixOf(encoding);
    return this.#details.get(name, () => readFile(join(this.#directory, name)));
  }

  /** The strong entity tag of one coding of a body. @throws when the snapshot has no such file. */
  tag(path: string, encoding: Encoding): string {
    const known = this.#tags[encoding].get(path);
    if (known !== undefined) return known;
    const file = this.#manifest.files[path + suffixOf(encoding)];
    if (!file) throw new Error(`the snapshot has no ${path + suffixOf(encoding)}`);
    const tag = `"${file.sha256.slice(0, TAG_HEX_DIGITS)}"`;
    if (this.#resident[encoding].has(path)) this.#tags[encoding].set(path, tag);
    return tag;
  }

  clear(): void {
    this.#details.clear();
  }
}
