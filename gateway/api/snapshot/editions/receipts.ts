/** Receipts for figures of one edition: the trees are computed from its kept files. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { VARCHAR } from '@duckdb/node-api';
import {
  type Descriptor,
  descriptorLeaf,
  descriptorOf,
  type EditionTree,
  editionTreeOf,
  LeafHashes,
  type MerkleTree,
  type ObservationLeaf,
  observationLeaf,
} from '../../../../data/proofs/merkle-tree.ts';
import { type Notice, type Place, type Receipt, receiptOf } from '../../../../data/proofs/receipt.ts';
import { readSql } from '../../../../data/runtime/sql-files.ts';
import { type ProviderProofs, proofsFile } from '../../../../data/schema/proofs.ts';
import { type LogEntry, observationsFile, providerOf } from '../../../../data/schema/snapshot.ts';
import { once } from '../files/memory.ts';
import type { SharedParts } from '../files/shared-parts.ts';
import { type SnapshotFiles, SnapshotUnreadable } from '../files/snapshot-files.ts';

/** Hashed before others have their turn. */
const ROWS_A_TURN = 2048;
const LEAVES = readSql(import.meta.url, 'sql/leaves.sql');
const LEAF_COLUMNS = ['iso3', 'year', 'value', 'ci_lo', 'ci_hi', 'status', 'projected'];

export interface ProvenRow {
  /** The id that the edition has for it. */
  indicator: string;
  iso3: string;
  year: number;
}

export class Receipts {
  readonly #files: SnapshotFiles;
  readonly #shared: Pick<SharedParts, 'queries' | 'signedLog'>;
  readonly #edition = once(() => this.#readEditionTree());

  constructor(files: SnapshotFiles, shared: Pick<SharedParts, 'queries' | 'signedLog'>) {
    this.#files = files;
    this.#shared = shared;
  }

  /** The row exists. @throws {SnapshotUnreadable} {QueryTimeout} {QueueFull} */
  async make({ indicator, iso3, year }: ProvenRow, notice: Notice): Promise<Receipt> {
    const rows = await this.rows(indicator);
    const { descriptor, tree } = await this.tree(indicator, rows);
    const at = rows.findIndex((row) => row.iso3 === iso3 && row.year === year);
    const row = rows[at];
    if (row === undefined) throw new Error(`${indicator} has no row of ${iso3}, ${year}`);
    const { tree: ofEdition, indicators, edition, checkpoint, place } = await this.signed();
    const places = {
      row: { tree, index: at + 1 },
      indicator: { tree: ofEdition, index: indicators.indexOf(indicator) },
      edition: place,
    };
    return receiptOf({ row, descriptor, edition, checkpoint, notice, places });
  }

  /** All rows of an indicator in the order of their leaves, a few thousand a turn. */
  async rows(indicator: string): Promise<ObservationLeaf[]> {
    const chunks = await this.#files.use([observationsFile(indicator)], ([file = '']) =>
      this.#shared.queries.run(LEAVES, { file }, { file: VARCHAR }),
    );
    const rows: ObservationLeaf[] = [];
    for (const chunk of chunks) {
      rows.push(...(chunk.getRowObjects(LEAF_COLUMNS) as unknown as ObservationLeaf[]));
      await nextTurn();
    }
    return rows;
  }

  /** The tree over the rows of an indicator. @throws {SnapshotUnreadable} where it is not the signed one */
  async tree(
    indicator: string,
    rows: readonly ObservationLeaf[],
  ): Promise<{ descriptor: Descriptor; tree: MerkleTree }> {
    const provider = providerOf(indicator);
    const proofs = await this.#files.json<ProviderProofs>(proofsFile(provider));
    const descriptor = proofs && descriptorOf(provider, proofs, indicator);
    if (!descriptor) throw this.#unsigned(`has no proof of ${indicator}`);
    const leaves = new LeafHashes(1 + rows.length);
    leaves.add(descriptorLeaf(descriptor));
    for (const [at, row] of rows.entries()) {
      leaves.add(observationLeaf(row));
      if (at % ROWS_A_TURN === ROWS_A_TURN - 1) await nextTurn();
    }
    const tree = leaves.tree();
    const isSigned = tree.root.toString('hex') === proofs.indicators[indicator]?.root;
    if (!isSigned) throw this.#unsigned('is not what was signed');
    return { descriptor, tree };
  }

  /** The edition as the log has it. @throws {SnapshotUnreadable} */
  async signed(): Promise<EditionTree & { edition: LogEntry; checkpoint: string; place: Place }> {
    const found = await this.#edition();
    const { checkpoint, entries, tree } = await this.#shared.signedLog.head();
    const index = entries.findIndex(({ edition }) => edition === this.#files.manifest.id);
    const edition = entries[index];
    if (!edition || found.tree.root.toString('hex') !== edition.root)
      throw this.#unsigned('is not what was signed');
    return { ...found, edition, checkpoint, place: { tree, index } };
  }

  #unsigned(fault: string): SnapshotUnreadable {
    return new SnapshotUnreadable(`snapshot ${this.#files.manifest.id} ${fault}`);
  }

  async #readEditionTree(): Promise<EditionTree> {
    const providers = Object.keys(this.#files.manifest.providers);
    const proofs = await Promise.all(
      providers.map((provider) => this.#files.json<ProviderProofs>(proofsFile(provider))),
    );
    // A provider of which only terms are left has no tree.
    return editionTreeOf(proofs.filter((one) => one !== undefined));
  }
}
