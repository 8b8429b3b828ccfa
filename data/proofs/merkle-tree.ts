/**
 * Merkle trees of RFC 6962, with paths and proofs of consistency. `verify-receipt.ts` verifies them.
 *
 * A first build hashes millions of rows, so hashes lie side by side in one buffer per level: two children are one copy,
 * and no object is made for a hash. A node without a sibling moves up a level unchanged, as the RFC's split has it.
 */
import { hash } from 'node:crypto';

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
