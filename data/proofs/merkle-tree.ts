/**
 * Merkle trees of RFC 6962, with paths and proofs of consistency. `verify-receipt.ts` verifies them.
 *
 * A first build hashes millions of rows, so hashes lie side by side in one buffer per level: two children are one copy,
 * and no object is made for a hash. A node without a sibling moves up a level unchanged, as the RFC's split has it.
 */
import { hash } from 'node:crypto';
import type { DecidedContainment } from '../derived/aggregate.ts';
import type { SeriesRule } from '../derived/recompute.ts';
import type { ProviderProofs } from '../schema/proofs.ts';
import type { ObservationRow } from '../schema/records.ts';
import type { LogEntry } from '../schema/snapshot.ts';
import { canonicalJson } from './verify-receipt.ts';

const WIDTH = 32;

/** Collects the hashes of leaves. */
export class LeafHashes {
  #hashes: Buffer;
  #count = 0;

  constructor(expected = 16) {
    this.#hashes = Buffer.allocUnsafe(Math.max(1, expected) * WIDTH);
  }

  add(leaf: string): void {
    if ((this.#count + 1) * WIDTH > this.#hashes.length) {
      this.#hashes = Buffer.concat([this.#hashes, Buffer.allocUnsafe(this.#hashes.length)]);
    }
    this.#hashes.write(hash('sha256', `\0${leaf}`, 'binary'), this.#count * WIDTH, WIDTH, 'binary');
    this.#count += 1;
  }

  tree(): MerkleTree {
    return new MerkleTree(this.#hashes.subarray(0, this.#count * WIDTH));
  }
}

const NODE = Buffer.alloc(1 + 2 * WIDTH, 1);

function levelAbove(level: Buffer): Buffer {
  const count = level.length / WIDTH;
  const above = Buffer.allocUnsafe(Math.ceil(count / 2) * WIDTH);
  for (let node = 0; node < Math.floor(count / 2); node += 1) {
    level.copy(NODE, 1, node * 2 * WIDTH, (node + 1) * 2 * WIDTH);
    above.write(hash('sha256', NODE, 'binary'), node * WIDTH, WIDTH, 'binary');
  }
  if (count % 2 === 1) level.copy(above, above.length - WIDTH, level.length - WIDTH);
  return above;
}

export class MerkleTree {
  readonly size: number;
  /** The leaf hashes, then each level above, up to the root. */
  readonly #levels: Buffer[];

  /** @param leafHashes 32 bytes a leaf, at least one leaf */
  constructor(leafHashes: Buffer) {
    if (leafHashes.length === 0) throw new RangeError('a tree without leaves');
    this.size = leafHashes.length / WIDTH;
    this.#levels = [leafHashes];
    for (let level = leafHashes; level.length > WIDTH; ) {
      level = levelAbove(level);
      this.#levels.push(level);
    }
  }

  static of(leaves: Iterable<string>): MerkleTree {
    const hashes = new LeafHashes();
    for (const leaf of leaves) hashes.add(leaf);
    return hashes.tree();
  }

  /** The tree over the first leaves. */
  first(size: number): MerkleTree {
    return size === this.size ? this : new MerkleTree((this.#levels[0] ?? NODE).subarray(0, size * WIDTH));
  }

  get root(): Buffer {
    return this.#node(this.#levels.length - 1, 0);
  }

  #node(level: number, index: number): Buffer {
    const hashes = this.#levels[level];
    if (!hashes || index < 0 || (index + 1) * WIDTH > hashes.length) throw new RangeError('no such node');
    return hashes.subarray(index * WIDTH, (index + 1) * WIDTH);
  }

  /** The siblings on the way from a leaf to the root. */
  path(index: number): Buffer[] {
    if (index < 0 || index >= this.size) throw new RangeError(`no leaf ${index} of ${this.size}`);
    const path: Buffer[] = [];
    for (const [level, hashes] of this.#levels.entries()) {
      const node = Math.floor(index / 2 ** level);
      const sibling = node % 2 === 1 ? node - 1 : node + 1;
      if (sibling * WIDTH < hashes.length) path.push(this.#node(level, sibling));
    }
    return path;
  }

  /** The roots of the parts of the tree without any of some leaves, from left to right. @param indexes ascending */
  pathOfSeveral(indexes: readonly number[]): Buffer[] {
    const climb = (own: readonly number[], start: number, end: number): Buffer[] => {
      if (own.length === 0) return [this.#range(start, end)];
      if (end - start === 1) return [];
      const middle = start + largestPowerBelow(end - start);
      const later = own.findIndex((index) => index >= middle);
      const split = later < 0 ? own.length : later;
      return [...climb(own.slice(0, split), start, middle), ...climb(own.slice(split), middle, end)];
    };
    return climb(indexes, 0, this.size);
  }

  /** Proves that this tree begins with the `from` leaves of an earlier one. */
  consistency(from: number): Buffer[] {
    if (from < 1 || from > this.size) throw new RangeError(`no ${from} leaves of ${this.size}`);
    const proof: Buffer[] = [];
    let [start, end, isKnown] = [0, this.size, true];
    while (from !== end) {
      const middle = start + largestPowerBelow(end - start);
      if (from <= middle) {
        proof.push(this.#range(middle, end));
        end = middle;
      } else {
        proof.push(this.#range(start, middle));
        [start, isKnown] = [middle, false];
      }
    }
    if (!isKnown) proof.push(this.#range(start, end));
    return proof.reverse();
  }

  /** The root over the leaves of one subtree of the RFC's splits. */
  #range(start: number, end: number): Buffer {
    const level = Math.ceil(Math.log2(end - start));
    return this.#node(level, start / 2 ** level);
  }
}

const largestPowerBelow = (size: number): number => 2 ** (Math.ceil(Math.log2(size)) - 1);

export type ObservationLeaf = Omit<ObservationRow, 'rank'> & { status: string | null };

/** An upstream file from which figures of an indicator come. */
export type SourceLeaf = ProviderProofs['files'][number];

export interface Descriptor {
  indicator: string;
  unit: string | null;
  provider: string;
  sources: SourceLeaf[];
}

/** The first members of an entry of the log. */
export type EditionLeaf = Pick<LogEntry, 'edition' | 'published_at' | 'indicators' | 'root' | 'manifest'>;

/** Builds the text member by member: this runs for every row of a build. Names, codes and words need no escapes. */
export const observationLeaf = (row: ObservationLeaf): string =>
  `{"ci_hi":${row.ci_hi},"ci_lo":${row.ci_lo},"iso3":"${row.iso3}","projected":${row.projected},` +
  `"status":${row.status === null ? null : `"${row.status}"`},"value":${row.value},"year":${row.year}}`;

/** Leaf 0 of an indicator's tree. Sources are ordered by url, then hash. */
export const descriptorLeaf = ({ indicator, unit, provider, sources }: Descriptor): string =>
  canonicalJson({ indicator, unit, provider, sources: sources.map((source) => ({ ...source })) });

export const indicatorLeaf = (leaf: { indicator: string; rows: number; root: string }): string =>
  canonicalJson(leaf);

export const editionLeaf = ({ edition, published_at, indicators, root, manifest }: EditionLeaf): string =>
  canonicalJson({ edition, published_at, indicators, root, manifest });

/** What an edition says of a series, of a group or of territories: leaves of one tree, whose root the manifest holds. */
export type RuleLeaf =
  | SeriesRule
  | { group: string; members: string[] }
  | { territories: DecidedContainment[] };

export const rulesTree = (rules: readonly RuleLeaf[]): MerkleTree => MerkleTree.of(rules.map(canonicalJson));

/** A tree, and the ids of its leaves. */
export type EditionTree = ReturnType<typeof editionTreeOf>;

/** @param proofs of all providers, in any order */
export function editionTreeOf(proofs: readonly ProviderProofs[]) {
  const leaves = proofs
    .flatMap(({ indicators }) => Object.entries(indicators))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([indicator, { rows, root }]) => ({ indicator, rows, root }));
  return {
    tree: MerkleTree.of(leaves.map(indicatorLeaf)),
    indicators: leaves.map(({ indicator }) => indicator),
  };
}

/** The descriptor of an indicator; undefined where the provider has no such indicator. */
export function descriptorOf(
  provider: string,
  { files, indicators }: ProviderProofs,
  indicator: string,
): Descriptor | undefined {
  const proven = indicators[indicator];
  if (proven === undefined) return undefined;
  const sources = proven.files.flatMap((position) => files[position] ?? []);
  return { indicator, unit: proven.unit, provider, sources };
}
