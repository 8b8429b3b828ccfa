/** Assembles receipts of rows and of derived figures, in the form of `docs/receipts.md`. */
import type { Held, Recipe, Recomputed, Rows, SeriesRule } from '../derived/recompute.ts';
import type { IndicatorRecord } from '../schema/records.ts';
import type { Descriptor, EditionLeaf, MerkleTree, ObservationLeaf, RuleLeaf } from './merkle-tree.ts';
import { DERIVATION_FORMAT } from './verify-derivation.ts';
import { FORMAT } from './verify-receipt.ts';

/** A leaf in its tree. */
export interface Place {
  tree: MerkleTree;
  index: number;
}

export type Notice = Pick<IndicatorRecord, 'licence' | 'licence_url' | 'attribution'>;

/** What a receipt says of an edition: its root follows. */
type EditionFacts = Omit<EditionLeaf, 'root'>;

interface ReceiptParts {
  row: ObservationLeaf;
  descriptor: Descriptor;
  edition: EditionFacts;
  checkpoint: string;
  notice: Notice;
  /** Where the leaves of the row, its indicator and its edition are. */
  places: Record<'row' | 'indicator' | 'edition', Place>;
}

export const hexPath = (path: readonly Buffer[]): string[] => path.map((hash) => hash.toString('hex'));

const proofOf = ({ tree, index }: Place): { index: number; path: string[] } => ({
  index,
  path: hexPath(tree.path(index)),
});

const factsOf = ({ edition, published_at, indicators, manifest }: EditionFacts): EditionFacts => ({
  edition,
  published_at,
  indicators,
  manifest,
});

export function receiptOf({ row, descriptor, edition, checkpoint, notice, places }: ReceiptParts) {
  const { iso3, year, value, ci_lo, ci_hi, status, projected } = row;
  return {
    format: FORMAT,
    row: { iso3, year, value, ci_lo, ci_hi, status, projected },
    descriptor,
    rows: places.row.tree.size - 1,
    edition: factsOf(edition),
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

/** The rows of a series, which notes those that are looked at. */
export class NotedRows implements Rows {
  readonly rows: readonly ObservationLeaf[];
  readonly #seen = new Set<number>();

  constructor(rows: readonly ObservationLeaf[]) {
    this.rows = rows;
  }

  get count(): number {
    return this.rows.length;
  }

  get seen(): number[] {
    return [...this.#seen].sort((a, b) => a - b);
  }

  before(iso3: string, year: number): number {
    let [low, high] = [0, this.rows.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const row = this.rows[middle];
      const isAfter = row === undefined || row.iso3 > iso3 || (row.iso3 === iso3 && row.year > year);
      if (isAfter) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  at(index: number): ObservationLeaf {
    const row = this.rows[index - 1];
    if (row === undefined) throw new RangeError(`no row ${index}`);
    this.#seen.add(index);
    return row;
  }
}

/** The rules of an edition, which note those that are looked at. */
export class NotedRules {
  readonly leaves: readonly RuleLeaf[];
  readonly #seen = new Set<number>();

  constructor(leaves: readonly RuleLeaf[]) {
    this.leaves = leaves;
  }

  get seen(): number[] {
    return [...this.#seen].sort((a, b) => a - b);
  }

  find<Found>(what: string, pick: (leaf: RuleLeaf) => Found | null): Found {
    for (const [index, leaf] of this.leaves.entries()) {
      const found = pick(leaf);
      if (found === null) continue;
      this.#seen.add(index);
      return found;
    }
    throw new RangeError(`the rules lack ${what}`);
  }

  rule(id: string): SeriesRule {
    return this.find(id, (leaf) => ('indicator' in leaf && leaf.indicator === id ? leaf : null));
  }
}

/** What an edition holds, where it notes what is looked at. */
export const notedHeld = (rules: NotedRules, series: ReadonlyMap<string, NotedRows>): Held => ({
  rule: (id) => rules.rule(id),
  members: (group) =>
    rules.find(`@${group}`, (leaf) => ('group' in leaf && leaf.group === group ? leaf.members : null)),
  territories: () => rules.find('territories', (leaf) => ('territories' in leaf ? leaf.territories : null)),
  rows: (id) => series.get(id) ?? new NotedRows([]),
});

/** A series of which figures are taken. */
interface TakenSeries {
  descriptor: Descriptor;
  tree: MerkleTree;
  /** All rows, and which of them are taken, counted from 1, ascending. */
  rows: readonly ObservationLeaf[];
  taken: readonly number[];
  /** Its leaf in the tree of the edition. */
  index: number;
}

interface DerivationParts {
  recipe: Recipe;
  figure: Recomputed;
  series: readonly TakenSeries[];
  indicators: MerkleTree;
  rules: { tree: MerkleTree; leaves: readonly RuleLeaf[]; taken: readonly number[] };
  /** The text of the manifest. */
  manifest: string;
  edition: EditionFacts;
  checkpoint: string;
  place: Place;
  notices: readonly (Notice & { indicator: string })[];
}

export function derivationReceipt(parts: DerivationParts) {
  const { recipe, figure, series, indicators, rules, manifest, edition, checkpoint, place, notices } = parts;
  const { value, status, projected, counted, coverage } = figure;
  const sorted = series.toSorted((a, b) => a.index - b.index);
  return {
    format: DERIVATION_FORMAT,
    recipe,
    figure: { value, status, projected, counted, coverage },
    series: sorted.map(({ descriptor, tree, rows, taken, index }) => ({
      descriptor,
      rows: rows.length,
      given: taken.map((at) => ({ index: at, row: rows[at - 1] })),
      path: hexPath(tree.pathOfSeveral([0, ...taken])),
      index,
    })),
    indicators: hexPath(indicators.pathOfSeveral(sorted.map(({ index }) => index))),
    rules: {
      given: rules.taken.map((index) => ({ index, rule: rules.leaves[index] })),
      path: hexPath(rules.tree.pathOfSeveral(rules.taken)),
    },
    manifest,
    edition: factsOf(edition),
    checkpoint,
    proof: proofOf(place),
    notices,
  };
}
export type DerivationReceipt = ReturnType<typeof derivationReceipt>;
