/** Receipts for figures of one edition: the trees are computed from its kept files. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type DuckDBValue, VARCHAR } from '@duckdb/node-api';
import {
  type Descriptor,
  descriptorLeaf,
  descriptorOf,
  type EditionTree,
  editionTreeOf,
  LeafHashes,
  type ObservationLeaf,
  observationLeaf,
} from '../../../../data/proofs/merkle-tree.ts';
import { type Notice, type Place, type Receipt, receiptOf } from '../../../../data/proofs/receipt.ts';
import { readSql } from '../../../../data/runtime/sql-files.ts';
import { type ProviderProofs, proofsFile } from '../../../../data/schema/proofs.ts';
import { observationsFile, providerOf } from '../../../../data/schema/snapshot.ts';
import type { SharedParts } from '../files/shared-parts.ts';
import type { SnapshotFiles } from '../files/snapshot-files.ts';
import { SnapshotUnreadable } from '../files/snapshot-files.ts';

const LEAVES = readSql(import.meta.url, 'sql/leaves.sql');

export interface ProvenRow {
  /** The id that the edition has for it. */
  indicator: string;
  iso3: string;
  year: number;
}

export class Receipts {
  readonly #files: SnapshotFiles;
  readonly #shared: Pick<SharedParts, 'queries' | 'signedLog'>;
  #edition: Promise<EditionTree> | null = null;

  constructor(files: SnapshotFiles, shared: Pick<SharedParts, 'queries' | 'signedLog'>) {
    this.#files = files;
    this.#shared = shared;
  }

  /** The row exists. @throws {SnapshotUnreadable} {QueryTimeout} {QueueFull} */
  async make(asked: ProvenRow, notice: Notice): Promise<Receipt> {
    const { manifest } = this.#files;
    const provider = providerOf(asked.indicator);
    const proofs = await this.#files.json<ProviderProofs>(proofsFile(provider));
    const descriptor = proofs && descriptorOf(provider, proofs, asked.indicator);
    if (!descriptor)
      throw new SnapshotUnreadable(`snapshot ${manifest.id} has no proof of ${asked.indicator}`);
    const { row, place } = await this.#findRow(asked, descriptor);
    const { tree, indicators } = await this.#editionTree();
    const { checkpoint, entries, tree: log } = await this.#shared.signedLog.head();
    const index = entries.findIndex(({ edition }) => edition === manifest.id);
    const entry = entries[index];
    const isProven =
      place.tree.root.toString('hex') === proofs.indicators[asked.indicator]?.root &&
      tree.root.toString('hex') === entry?.root;
    if (!entry || !isProven) throw new SnapshotUnreadable(`snapshot ${manifest.id} is not what was signed`);
    const places = {
      row: place,
      indicator: { tree, index: indicators.indexOf(asked.indicator) },
      edition: { tree: log, index },
    };
    return receiptOf({ row, descriptor, edition: entry, checkpoint, notice, places });
  }

  /** The tree of an indicator, hashed a few thousand rows a turn. */
  async #findRow(
    { indicator, iso3, year }: ProvenRow,
    descriptor: Descriptor,
  ): Promise<{ row: ObservationLeaf; place: Place }> {
    const chunks = await this.#files.use([observationsFile(indicator)], ([file = '']) =>
      this.#shared.queries.run(LEAVES, { file }, { file: VARCHAR }),
    );
    const leaves = new LeafHashes(1 + chunks.reduce((sum, { rowCount }) => sum + rowCount, 0));
    leaves.add(descriptorLeaf(descriptor));
    let found: { row: ObservationLeaf; index: number } | null = null;
    let index = 0;
    for (const chunk of chunks) {
      for (const row of chunk.getRows().map(toLeaf)) {
        leaves.add(observationLeaf(row));
        index += 1;
        if (row.iso3 === iso3 && row.year === year) found = { row, index };
      }
      await nextTurn();
    }
    if (found === null) throw new Error(`${indicator} has no row of ${iso3}, ${year}`);
    return { row: found.row, place: { tree: leaves.tree(), index: found.index } };
  }

  #editionTree(): Promise<EditionTree> {
    this.#edition ??= this.#readEditionTree().catch((error: unknown) => {
      this.#edition = null;
      throw error;
    });
    return this.#edition;
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

function toLeaf([iso3, year, value, ci_lo, ci_hi, status, projected]: DuckDBValue[]): ObservationLeaf {
  const number = (cell: DuckDBValue | undefined): number | null => (typeof cell === 'number' ? cell : null);
  return {
    iso3: String(iso3),
    year: Number(year),
    value: number(value),
    ci_lo: number(ci_lo),
    ci_hi: number(ci_hi),
    status: typeof status === 'string' ? status : null,
    projected: projected === true,
  };
}
