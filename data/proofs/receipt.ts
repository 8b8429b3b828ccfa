/** Assembles receipts, in the form of `docs/receipts.md`. */
import type { Descriptor, EditionLeaf, MerkleTree, ObservationLeaf } from './merkle-tree.ts';
import { FORMAT } from './verify-receipt.ts';

/** A leaf in its tree. */
export interface Place {
  tree: MerkleTree;
  index: number;
}

export interface Notice {
  licence: string;
  licence_url: string | null;
  attribution: string;
}

export interface ReceiptParts {
  row: ObservationLeaf;
  descriptor: Descriptor;
  edition: Omit<EditionLeaf, 'root'>;
  checkpoint: string;
  notice: Notice;
  /** Where the leaves of the row, its indicator and its edition are. */
  places: Record<'row' | 'indicator' | 'edition', Place>;
}

export const hexPath = (path: readonly Buffer[]): string[] => path.map((hash) => hash.toString('hex'));

export const proofOf = ({ tree, index }: Place): { index: number; path: string[] } => ({
  index,
  path: hexPath(tree.path(index)),
});

export function receiptOf({ row, descriptor, edition, checkpoint, notice, places }: ReceiptParts) {
  const { iso3, year, value, ci_lo, ci_hi, status, projected } = row;
  return {
    format: FORMAT,
    row: { iso3, year, value, ci_lo, ci_hi, status, projected },
    descriptor,
    rows: places.row.tree.size - 1,
    edition: {
      edition: edition.edition,
      published_at: edition.published_at,
      indicators: edition.indicators,
      manifest: edition.manifest,
    },
    checkpoint,
    proofs: {
      row: proofOf(places.row),
      descriptor: proofOf({ tree: places.row.tree, index: 0 }),
      indicator: proofOf(places.indicator),
      edition: proofOf(places.edition),
    },
    notice,
  };
}
export type Receipt = ReturnType<typeof receiptOf>;
