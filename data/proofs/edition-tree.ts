/** The tree of an edition, from the proofs of its providers. */
import type { ProviderProofs } from '../schema/proofs.ts';
import { type Descriptor, indicatorLeaf } from './leaves.ts';
import { MerkleTree } from './merkle-tree.ts';

export interface EditionTree {
  tree: MerkleTree;
  /** The ids of its leaves. */
  indicators: string[];
}

/** @param proofs of all providers, in any order */
export function editionTreeOf(proofs: readonly ProviderProofs[]): EditionTree {
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
