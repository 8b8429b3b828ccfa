/**
 * Computes the trees of an edition. An indicator whose observations are linked from the base edition keeps its root; with
 * a new descriptor (a new upstream file with the same rows) only the path of leaf 0 is hashed again.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DuckDBValue } from '@duckdb/node-api';
import {
  type Descriptor,
  descriptorLeaf,
  descriptorOf,
  editionTreeOf,
  LeafHashes,
  observationLeaf,
  type SourceLeaf,
} from '../../data/proofs/merkle-tree.ts';
import { leafHash, rootOf } from '../../data/proofs/verify-receipt.ts';
import { unpackJson } from '../../data/runtime/durable-files.ts';
import { readSql } from '../../data/runtime/sql-files.ts';
import {
  type ProviderProofs,
  proofsFile,
  providerProofs,
  TREE_PATHS,
  treePaths,
} from '../../data/schema/proofs.ts';
import { observationsFile } from '../../data/schema/snapshot.ts';
import type { DuckSession } from '../runtime/duckdb.ts';
import type { SnapshotFile } from './tables/file-writer.ts';
import { keptFile } from './tables/prerender.ts';

const READ_LEAVES = readSql(import.meta.url, 'sql/read-leaves.sql');
const HASH_BYTES = 32;

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
  /** The prerendered file for the next build. */
  paths: SnapshotFile;
}

interface IndicatorTree {
  rows: number;
  root: string;
  /** The siblings of the descriptor's leaf. */
  path: Buffer[];
}

/**
 * @param directory holds the observation files under their names
 * @param base the files of the base edition under their names, null without one; and the ids whose observations it shares
 */
export async function proveEdition(
  duck: DuckSession,
  directory: string,
  indicators: readonly ProvenIndicator[],
  base: { directory: string | null; linked: ReadonlySet<string> },
  onIndicators: (done: number) => void,
): Promise<EditionProofs> {
  const earlier = new EarlierTrees(base.directory);
  const providers = new Map<string, ProofTable>();
  const paths: Record<string, string> = {};
  for (const [at, indicator] of indicators.toSorted((a, b) => (a.id < b.id ? -1 : 1)).entries()) {
    const { id, providerId } = indicator;
    const known = base.linked.has(id) ? await earlier.find(indicator) : null;
    const tree = known ?? (await hashIndicator(duck, directory, indicator));
    const table = providers.get(providerId) ?? new ProofTable();
    providers.set(providerId, table);
    table.add(indicator, tree);
    paths[id] = Buffer.concat(tree.path).toString('base64');
    onIndicators(at + 1);
  }
  const tables = [...providers].map(([provider, { proofs }]): [string, ProviderProofs] => [provider, proofs]);
  return {
    root: editionTreeOf(tables.map(([, proofs]) => proofs)).tree.root.toString('hex'),
    files: tables.map(([provider, proofs]) => keptFile(proofsFile(provider), providerProofs.parse(proofs))),
    paths: { path: TREE_PATHS, content: JSON.stringify(paths) },
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
  return { rows: tree.size - 1, root: tree.root.toString('hex'), path: tree.path(0) };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** The trees of the base edition; without those that cannot be read, which are computed again. */
class EarlierTrees {
  readonly #directory: string | null;
  readonly #proofs = new Map<string, Promise<ProviderProofs | null>>();
  #paths: Promise<Record<string, string> | null> | undefined;

  constructor(directory: string | null) {
    this.#directory = directory;
  }

  async #read(path: string): Promise<unknown> {
    return this.#directory === null
      ? null
      : JSON.parse(unpackJson(await readFile(join(this.#directory, path))));
  }

  /** The tree of an indicator that has the same rows. */
  async find(indicator: ProvenIndicator): Promise<IndicatorTree | null> {
    const { id, providerId } = indicator;
    const reading =
      this.#proofs.get(providerId) ??
      this.#read(proofsFile(providerId))
        .then((json) => providerProofs.parse(json))
        .catch(() => null);
    this.#proofs.set(providerId, reading);
    this.#paths ??= this.#read(TREE_PATHS)
      .then((json) => treePaths.parse(json))
      .catch(() => null);
    const [proofs, paths] = [await reading, await this.#paths];
    const [known, encoded] = [proofs?.indicators[id], paths?.[id]];
    const descriptor = proofs && descriptorOf(providerId, proofs, id);
    if (!known || !descriptor || encoded === undefined) return null;
    const path = hashesOf(Buffer.from(encoded, 'base64'));
    const rootWith = (leaf: string): string =>
      rootOf(leafHash(leaf), 0, known.rows + 1, path, id).toString('hex');
    const [before, now] = [descriptorLeaf(descriptor), descriptorLeaf(describe(indicator))];
    if (before === now) return { rows: known.rows, root: known.root, path };
    return rootWith(before) === known.root ? { rows: known.rows, root: rootWith(now), path } : null;
  }
}

const hashesOf = (bytes: Buffer): Buffer[] =>
  Array.from({ length: bytes.length / HASH_BYTES }, (_, at) =>
    bytes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES),
  );
