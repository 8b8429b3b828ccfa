/** Merkle trees: RFC 6962, and RFC 9162, section 2.1. */
import { type Bytes, fromHex, isSame, sha256, utf8 } from './crypto.ts';
import { demand, type Json } from './exact-json.ts';

const HASH = /^[0-9a-f]{64}$/;

/** The head of a tree: its number of leaves, and its root. */
export interface Head {
  size: number;
  root: Bytes;
}

export const leafHash = (leaf: string): Promise<Bytes> => sha256(Uint8Array.of(0), utf8(leaf));
const nodeHash = (left: Bytes, right: Bytes): Promise<Bytes> => sha256(Uint8Array.of(1), left, right);

const isOdd = (number: number): boolean => number % 2 === 1;
// Sizes exceed 32 bits, at which `>>` would cut them.
const half = (number: number): number => Math.floor(number / 2);

/** Hashes of 64 lower-case hexadecimal digits. */
export function pathOf(value: Json, what: string): Bytes[] {
  demand(Array.isArray(value), `${what} is not a list of hashes.`);
  return value.map((hash) => {
    demand(typeof hash === 'string' && HASH.test(hash), `${what} holds something else than hashes.`);
    return fromHex(hash);
  });
}

/** The root to which a path leads from the leaf at `index` of `size` leaves. */
export async function rootOf(
  leaf: Bytes,
  index: number,
  size: number,
  path: Bytes[],
  what: string,
): Promise<Bytes> {
  demand(index < size, `${what}: the leaf lies outside its tree.`);
  let [node, last, hash] = [index, size - 1, leaf];
  for (const sibling of path) {
    demand(last > 0, `${what}: the path is too long.`);
    if (isOdd(node) || node === last) {
      hash = await nodeHash(sibling, hash);
      while (!isOdd(node) && node !== 0) [node, last] = [half(node), half(last)];
    } else {
      hash = await nodeHash(hash, sibling);
    }
    [node, last] = [half(node), half(last)];
  }
  demand(last === 0, `${what}: the path is too short.`);
  return hash;
}

/** A leaf, and where it stands in its tree. */
export interface Leaf {
  index: number;
  hash: Bytes;
}

/** The root over some leaves and the roots of the parts of the tree without any, from left to right. @param leaves ascending */
export async function rootOfSeveral(
  leaves: readonly Leaf[],
  size: number,
  path: readonly Bytes[],
  what: string,
): Promise<Bytes> {
  for (const [at, { index }] of leaves.entries())
    demand(index > (leaves[at - 1]?.index ?? -1), `${what}: the leaves are not in order.`);
  demand((leaves.at(-1)?.index ?? 0) < size, `${what}: a leaf lies outside its tree.`);
  const rest = [...path];
  const climb = async (own: readonly Leaf[], from: number, to: number): Promise<Bytes> => {
    const [leaf] = own;
    const hash = leaf === undefined ? rest.shift() : leaf.hash;
    demand(hash !== undefined, `${what}: the path is too short.`);
    if (leaf === undefined || to - from === 1) return hash;
    let width = 1;
    while (width * 2 < to - from) width *= 2;
    const middle = from + width;
    // The left part takes its hashes off the path first.
    const left = await climb(
      own.filter(({ index }) => index < middle),
      from,
      middle,
    );
    const right = await climb(
      own.filter(({ index }) => index >= middle),
      middle,
      to,
    );
    return await nodeHash(left, right);
  };
  const root = await climb(leaves, 0, size);
  demand(rest.length === 0, `${what}: the path is too long.`);
  return root;
}

/** The root over the leaves of a whole tree. @param leaves their hashes, at least one */
export async function rootOver(leaves: readonly Bytes[]): Promise<Bytes> {
  let level = leaves;
  while (level.length > 1) {
    const above: Bytes[] = [];
    for (const [at, left] of level.entries()) {
      const right = level[at + 1];
      if (!isOdd(at)) above.push(right === undefined ? left : await nodeHash(left, right));
    }
    level = above;
  }
  return level[0] ?? (await sha256());
}

/** Refuses unless the tree `later` begins with all leaves of the tree `earlier`. */
export async function verifyConsistency(earlier: Head, later: Head, path: Bytes[]): Promise<void> {
  const forked = 'The log does not extend the earlier checkpoint.';
  demand(earlier.size >= 1 && earlier.size <= later.size, forked);
  if (earlier.size === later.size) {
    demand(path.length === 0 && isSame(earlier.root, later.root), forked);
    return;
  }
  let [node, last] = [earlier.size - 1, later.size - 1];
  while (isOdd(node)) [node, last] = [half(node), half(last)];
  // A complete earlier tree is itself the first node of the path.
  const [start, ...rest] = node === 0 ? [earlier.root, ...path] : path;
  demand(start !== undefined, forked);
  let [old, now] = [start, start];
  for (const sibling of rest) {
    demand(last > 0, forked);
    if (isOdd(node) || node === last) {
      [old, now] = [await nodeHash(sibling, old), await nodeHash(sibling, now)];
      while (!isOdd(node) && node !== 0) [node, last] = [half(node), half(last)];
    } else {
      now = await nodeHash(now, sibling);
    }
    [node, last] = [half(node), half(last)];
  }
  demand(last === 0 && isSame(old, earlier.root) && isSame(now, later.root), forked);
}
