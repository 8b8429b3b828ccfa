/** Computes the trees of an edition. */
import { join } from 'node:path';
import type { DuckDBValue } from '@duckdb/node-api';
import {
  type Descriptor,
  descriptorLeaf,
  editionTreeOf,
  LeafHashes,
  observationLeaf,
} from '../../data/proofs/merkle-tree.ts';
import { readSql } from '../../data/runtime/sql-files.ts';
import { type ProviderProofs, proofsFile, providerProofs } from '../../data/schema/proofs.ts';
import { observationsFile } from '../../data/schema/snapshot.ts';
import type { DuckSession } from '../runtime/duckdb.ts';
import type { PlannedIndicator } from './plan/plan-snapshot.ts';
import type { SnapshotFile } from './tables/file-writer.ts';
import { keptFile } from './tables/prerender.ts';

const READ_LEAVES = readSql(import.meta.url, 'sql/read-leaves.sql');

/** An indicator whose observation file lies in the directory of a build. */
export type ProvenIndicator = Pick<PlannedIndicator, 'id' | 'providerId' | 'files'> & {
  record: Pick<PlannedIndicator['record'], 'unit'>;
};

export interface EditionProofs {
  root: string;
  /** Kept files. */
  files: SnapshotFile[];
}

/** @param directory holds the observation files under their names */
export async function proveEdition(
  duck: DuckSession,
  directory: string,
  indicators: readonly ProvenIndicator[],
  onIndicators: (done: number) => void,
): Promise<EditionProofs> {
  const tables: [provider: string, proofs: ProviderProofs][] = [];
  let done = 0;
  const byId = indicators.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  for (const [provider, own] of Map.groupBy(byId, ({ providerId }) => providerId)) {
    const proofs: ProviderProofs = { files: [], indicators: {} };
    const positions = new Map<string, number>();
    for (const { id: indicator, record, files } of own) {
      const sources = files.map(({ url, sha256, bytes, fetched_at }) => ({ url, sha256, bytes, fetched_at }));
      const descriptor = { indicator, unit: record.unit, provider, sources };
      const hashed = await hashIndicator(duck, directory, descriptor);
      const listed = sources.map((source) => {
        const key = `${source.url} ${source.sha256} ${source.fetched_at}`;
        const at = positions.get(key) ?? proofs.files.push(source) - 1;
        positions.set(key, at);
        return at;
      });
      proofs.indicators[indicator] = { ...hashed, unit: record.unit, files: listed };
      onIndicators(++done);
    }
    tables.push([provider, proofs]);
  }
  return {
    root: editionTreeOf(tables.map(([, proofs]) => proofs)).tree.root.toString('hex'),
    files: tables.map(([provider, proofs]) => keptFile(proofsFile(provider), providerProofs.parse(proofs))),
  };
}

async function hashIndicator(duck: DuckSession, directory: string, descriptor: Descriptor) {
  const { indicator } = descriptor;
  const leaves = new LeafHashes();
  leaves.add(descriptorLeaf(descriptor));
  const file = join(directory, observationsFile(indicator));
  let last = { iso3: '', year: Number.NEGATIVE_INFINITY };
  const addRows = (columns: DuckDBValue[][], rows: number): void => {
    const [iso3 = [], year = [], value = [], ci_lo = [], ci_hi = [], status = [], projected = []] = columns;
    for (let row = 0; row < rows; row += 1) {
      const cell = { iso3: textOf(iso3[row]), year: Number(year[row]) };
      if (cell.iso3 < last.iso3 || (cell.iso3 === last.iso3 && cell.year <= last.year))
        throw new Error(`${indicator} has two rows of ${cell.iso3}, ${cell.year}, or has them out of order`);
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
