/** Computes the trees of an edition. */
import { join } from 'node:path';
import type { DuckDBValue } from '@duckdb/node-api';
import {
  type Descriptor,
  descriptorLeaf,
  editionTreeOf,
  LeafHashes,
  observationLeaf,
  type SourceLeaf,
} from '../../data/proofs/merkle-tree.ts';
import { readSql } from '../../data/runtime/sql-files.ts';
import { type ProviderProofs, proofsFile, providerProofs } from '../../data/schema/proofs.ts';
import { observationsFile } from '../../data/schema/snapshot.ts';
import type { DuckSession } from '../runtime/duckdb.ts';
import type { SnapshotFile } from './tables/file-writer.ts';
import { keptFile } from './tables/prerender.ts';

const READ_LEAVES = readSql(import.meta.url, 'sql/read-leaves.sql');

/** An indicator whose observation file lies in the directory of a build. */
export interface ProvenIndicator {
  id: string;
  providerId: string;
  unit: string | null;
  /** Its upstream files. */
  files: readonly SourceLeaf[];
}

export interface EditionProofs {
  root: string;
  /** Kept files. */
  files: SnapshotFile[];
}

interface IndicatorTree {
  rows: number;
  root: string;
}

/** @param directory holds the observation files under their names */
export async function proveEdition(
  duck: DuckSession,
  directory: string,
  indicators: readonly ProvenIndicator[],
  onIndicators: (done: number) => void,
): Promise<EditionProofs> {
  const providers = new Map<string, ProofTable>();
  for (const [at, indicator] of indicators.toSorted((a, b) => (a.id < b.id ? -1 : 1)).entries()) {
    const { providerId } = indicator;
    const table = providers.get(providerId) ?? new ProofTable();
    providers.set(providerId, table);
    table.add(indicator, await hashIndicator(duck, directory, indicator));
    onIndicators(at + 1);
  }
  const tables = [...providers].map(([provider, { proofs }]): [string, ProviderProofs] => [provider, proofs]);
  return {
    root: editionTreeOf(tables.map(([, proofs]) => proofs)).tree.root.toString('hex'),
    files: tables.map(([provider, proofs]) => keptFile(proofsFile(provider), providerProofs.parse(proofs))),
  };
}

/** Collects the proofs of one provider. */
class ProofTable {
  readonly proofs: ProviderProofs = { files: [], indicators: {} };
  readonly #positions = new Map<string, number>();

  add({ id, unit, files }: ProvenIndicator, { rows, root }: IndicatorTree): void {
    const positions = files.map(({ url, sha256, bytes, fetched_at }) => {
      const key = `${url} ${sha256} ${fetched_at}`;
      const known =
        this.#positions.get(key) ?? this.proofs.files.push({ url, sha256, bytes, fetched_at }) - 1;
      this.#positions.set(key, known);
      return known;
    });
    this.proofs.indicators[id] = { rows, root, unit, files: positions };
  }
}

const describe = ({ id: indicator, unit, providerId: provider, files }: ProvenIndicator): Descriptor => ({
  indicator,
  unit,
  provider,
  sources: files.map(({ url, sha256, bytes, fetched_at }) => ({ url, sha256, bytes, fetched_at })),
});

async function hashIndicator(
  duck: DuckSession,
  directory: string,
  indicator: ProvenIndicator,
): Promise<IndicatorTree> {
  const leaves = new LeafHashes();
  leaves.add(descriptorLeaf(describe(indicator)));
  const file = join(directory, observationsFile(indicator.id));
  let last = { iso3: '', year: Number.NEGATIVE_INFINITY };
  const addRows = (columns: DuckDBValue[][], rows: number): void => {
    const [iso3 = [], year = [], value = [], ci_lo = [], ci_hi = [], status = [], projected = []] = columns;
    for (let row = 0; row < rows; row += 1) {
      const cell = { iso3: textOf(iso3[row]), year: Number(year[row]) };
      if (cell.iso3 < last.iso3 || (cell.iso3 === last.iso3 && cell.year <= last.year))
        throw new Error(
          `${indicator.id} has two rows of ${cell.iso3}, ${cell.year}, or has them out of order`,
        );
      last = cell;
      leaves.add(
        observationLeaf({
          ...cell,
          value: numberOf(value[row]),
          ci_lo: numberOf(ci_lo[row]),
          ci_hi: numberOf(ci_hi[row]),
          status: status[row] === null ? null : textOf(status[row]),
          projected: projected[row] === true,
        }),
      );
    }
  };
  await duck.eachChunk(READ_LEAVES, addRows, { file });
  const tree = leaves.tree();
  return { rows: tree.size - 1, root: tree.root.toString('hex') };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);
