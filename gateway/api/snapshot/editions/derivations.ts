/** Receipts for derived figures of one edition: which rows a figure takes, and their proof. */
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Recipe, type Recomputed, recompute } from '../../../../data/derived/recompute.ts';
import { parseTransforms } from '../../../../data/derived/transforms.ts';
import { type ObservationLeaf, type RuleLeaf, rulesTree } from '../../../../data/proofs/merkle-tree.ts';
import {
  type DerivationReceipt,
  derivationReceipt,
  NotedRows,
  NotedRules,
  type Notice,
  notedHeld,
} from '../../../../data/proofs/receipt.ts';
import { RULES } from '../../../../data/schema/proofs.ts';
import { manifestPath } from '../../../../data/schema/snapshot.ts';
import type { SharedParts } from '../files/shared-parts.ts';
import { type SnapshotFiles, SnapshotUnreadable } from '../files/snapshot-files.ts';
import type { Receipts } from './receipts.ts';

/** A derived figure, and which rows it takes. */
export interface Derivation {
  figure: Recomputed;
  /** Ids that the edition has for the series, each with the rows that are taken. */
  taken: ReadonlyMap<string, readonly ObservationLeaf[]>;
  /** The proof of it. @throws {SnapshotUnreadable} */
  receipt(notices: readonly (Notice & { indicator: string })[]): Promise<DerivationReceipt>;
}

export class Derivations {
  readonly #files: SnapshotFiles;
  readonly #shared: Pick<SharedParts, 'directory'>;
  readonly #receipts: Receipts;

  constructor(files: SnapshotFiles, shared: Pick<SharedParts, 'directory'>, receipts: Receipts) {
    this.#files = files;
    this.#shared = shared;
    this.#receipts = receipts;
  }

  /**
   * Null for an edition without rules. @param recipe by the ids of the edition, defined for the series
   * @throws {SnapshotUnreadable} {QueryTimeout} {QueueFull}
   */
  async derive(recipe: Recipe): Promise<Derivation | null> {
    const leaves = await this.#files.json<RuleLeaf[]>(RULES);
    if (leaves === undefined || this.#files.manifest.rules === undefined) return null;
    const rules = new NotedRules(leaves);
    const series = new Map<string, NotedRows>();
    for (const id of seriesIn(recipe, new NotedRules(leaves)))
      series.set(id, new NotedRows(await this.#receipts.rows(id)));
    const figure = recompute(recipe, notedHeld(rules, series));
    const used = [...series].filter(([, { seen }]) => seen.length > 0);
    return {
      figure,
      taken: new Map(used.map(([id, noted]) => [id, noted.seen.map((index) => noted.at(index))])),
      receipt: (notices) => this.#prove(recipe, figure, used, rules, notices),
    };
  }

  async #prove(
    recipe: Recipe,
    figure: Recomputed,
    used: readonly [string, NotedRows][],
    { leaves, seen }: NotedRules,
    notices: readonly (Notice & { indicator: string })[],
  ): Promise<DerivationReceipt> {
    const { indicators, ...signed } = await this.#receipts.signed();
    const { manifest } = this.#files;
    const text = await readFile(join(this.#shared.directory, manifestPath(manifest.id)), 'utf8').catch(
      () => '',
    );
    const tree = rulesTree(leaves);
    const isProven =
      hash('sha256', text) === signed.edition.manifest && tree.root.toString('hex') === manifest.rules?.root;
    if (!isProven) throw new SnapshotUnreadable(`snapshot ${manifest.id} is not what was signed`);
    const series = [];
    for (const [id, { rows, seen: taken }] of used)
      series.push({ ...(await this.#receipts.tree(id, rows)), rows, taken, index: indicators.indexOf(id) });
    return derivationReceipt({
      recipe,
      figure,
      series,
      notices,
      manifest: text,
      rules: { tree, leaves, taken: seen },
      indicators: signed.tree,
      edition: signed.edition,
      checkpoint: signed.checkpoint,
      place: signed.place,
    });
  }
}

/** The series of which a recipe may take figures. */
function seriesIn({ indicator, transform, aggregate }: Recipe, rules: NotedRules): Set<string> {
  const { divisor, population } = rules.rule(indicator);
  const parsed = transform.length === 0 ? [] : parseTransforms(transform.join(','));
  const transforms = Array.isArray(parsed) ? parsed : [];
  const divided = transforms.flatMap((one) =>
    one.name === 'per' ? [one.indicator] : one.name === 'per_head' ? [population] : [],
  );
  const isGroup = aggregate !== null || divided.length === 0;
  return new Set([indicator, ...divided, isGroup ? divisor : null].filter((id) => id !== null));
}
