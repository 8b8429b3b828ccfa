/** Verification of receipts, offline. `docs/receipts.md` of Almanac fixes the form; this follows its steps. */
import { type Checkpoint, type LogKey, readCheckpoint } from './checkpoints.ts';
import { type Bytes, isSame, toHex } from './crypto.ts';
import {
  canonicalJson,
  countOf,
  dataOf,
  decodeUtf8,
  demand,
  type Json,
  membersOf,
  parseJson,
  textOf,
} from './exact-json.ts';
import { leafHash, pathOf, rootOf, rootOver, verifyConsistency } from './merkle.ts';

const FORMAT = 'almanac-receipt/1';
const RECEIPT = ['format', 'row', 'descriptor', 'rows', 'edition', 'checkpoint', 'proofs', 'notice'] as const;
export const ROW = ['iso3', 'year', 'value', 'ci_lo', 'ci_hi', 'status', 'projected'] as const;
export const DESCRIPTOR = ['indicator', 'unit', 'provider', 'sources'] as const;
export const EDITION = ['edition', 'published_at', 'indicators', 'manifest'] as const;
const PROOFS = ['row', 'descriptor', 'indicator', 'edition'] as const;

export type Members<Names extends readonly string[]> = Record<Names[number], Json>;

/** What a receipt proves. */
export interface Verified {
  /** The figure. */
  row: Members<typeof ROW>;
  /** Its indicator, unit, provider and upstream files. */
  descriptor: Members<typeof DESCRIPTOR>;
  edition: Members<typeof EDITION>;
  /** Of the edition's tree, which a lock pins: 64 hexadecimal digits. */
  root: string;
  checkpoint: Checkpoint;
  /** Of the indicator: the number of its rows, and its root. */
  tree: { rows: number; root: string };
}

/**
 * Verifies a receipt: each leaf leads by its path to the root that the next leaf holds, the last to the checkpoint.
 * @param receipt the answer of the service, byte by byte as it came, or its text
 * @param keys from a moment at which you trusted the connection
 * @throws {Refused} with the reason
 * @throws {Unsupported} where the runtime has no Ed25519
 */
export async function verifyReceipt(receipt: Bytes | string, keys: readonly LogKey[]): Promise<Verified> {
  const text = typeof receipt === 'string' ? receipt : decodeUtf8(receipt);
  const members = membersOf(dataOf(parseJson(text)), 'The receipt', RECEIPT);
  demand(members.format === FORMAT, `The format of the receipt is not ${FORMAT}.`);
  const row = membersOf(members.row, 'The row', ROW);
  const descriptor = membersOf(members.descriptor, 'The descriptor', DESCRIPTOR);
  const rows = countOf(members.rows, 'The number of rows', 1);
  const edition = membersOf(members.edition, 'The edition', EDITION);
  const indicators = countOf(edition.indicators, 'The number of indicators', 1);
  const proofs = membersOf(members.proofs, 'The proofs', PROOFS);
  const climb = (name: (typeof PROOFS)[number], leaf: Json, size: number): Promise<Bytes> =>
    climbed(proofs, name, leaf, size);

  const checkpoint = await readCheckpoint(textOf(members.checkpoint, 'The checkpoint'), keys);
  // The edition's tree: a leaf for each indicator.
  const editionRoot = async (root: string): Promise<string> =>
    toHex(await climb('indicator', { indicator: descriptor.indicator, rows, root }, indicators));
  // The log's tree: a leaf for each edition. Its root and size are those of the checkpoint.
  const leads = async (indicatorRoot: string): Promise<boolean> => {
    const leaf = { ...edition, root: await editionRoot(indicatorRoot) };
    return isSame(await climb('edition', leaf, checkpoint.size), checkpoint.root);
  };

  // The indicator's tree: the descriptor is leaf 0, and the only one; the rows follow.
  const ofRow = toHex(await climb('row', row, rows + 1));
  const ofDescriptor = toHex(await climb('descriptor', descriptor, rows + 1));
  const isOne = ofRow === ofDescriptor;
  for (const [name, other] of [['row', ofDescriptor] as const, ['descriptor', ofRow] as const])
    demand(
      isOne || !(await leads(other)),
      `The ${name} or its path was altered: all else leads to the checkpoint.`,
    );
  demand(isOne, 'Row and descriptor do not belong to one tree, and neither leads to the checkpoint.');
  demand(
    await leads(ofRow),
    'The edition, the number of rows or a path was altered: they do not lead to the checkpoint.',
  );
  const root = await editionRoot(ofRow);
  return { row, descriptor, edition, root, checkpoint, tree: { rows, root: ofRow } };
}

async function climbed(
  proofs: Members<typeof PROOFS>,
  name: (typeof PROOFS)[number],
  leaf: Json,
  size: number,
): Promise<Bytes> {
  const what = `The proof of the ${name}`;
  const { index, path } = membersOf(proofs[name], what, ['index', 'path']);
  const position = countOf(index, `${what}: the index`, 0);
  demand(name !== 'descriptor' || position === 0, 'The descriptor is not the first leaf.');
  return await rootOf(await leafHash(canonicalJson(leaf)), position, size, pathOf(path, what), what);
}

/**
 * Refuses unless some rows are all rows of a receipt's tree, one for each country and year.
 * @param rows a list of rows in any order as JSON, or the answer of `/v1/data` with it; members that leaves lack are left out
 * @throws {Refused}
 */
export async function verifyRows(
  { descriptor, tree }: Pick<Verified, 'descriptor' | 'tree'>,
  rows: Bytes | string,
): Promise<void> {
  const list = dataOf(parseJson(typeof rows === 'string' ? rows : decodeUtf8(rows)));
  demand(Array.isArray(list), 'The rows are not a list.');
  const cells = list.map(cellOf);
  cells.sort((a, b) => (a.iso3 === b.iso3 ? a.year - b.year : a.iso3 < b.iso3 ? -1 : 1));
  for (const [at, { iso3, year }] of cells.entries())
    demand(cells[at + 1]?.iso3 !== iso3 || cells[at + 1]?.year !== year, `Two rows are of ${iso3}, ${year}.`);
  demand(cells.length === tree.rows, `The tree has ${tree.rows} rows, not ${cells.length}.`);
  const leaves: Bytes[] = [];
  for (const leaf of [descriptor, ...cells.map((cell) => cell.leaf)])
    leaves.push(await leafHash(canonicalJson(leaf)));
  demand(toHex(await rootOver(leaves)) === tree.root, 'The rows are not those of the tree.');
}

function cellOf(entry: Json): { iso3: string; year: number; leaf: Json } {
  const members = membersOf(entry, 'A row', ROW, 'and others');
  const leaf = Object.fromEntries(ROW.map((name) => [name, members[name]]));
  return { iso3: textOf(members.iso3, 'A country'), year: Number(members.year), leaf };
}

/**
 * Refuses unless two checkpoints are of one log.
 * @param proof the answer of `/v1/log/consistency`, or its `data`; not needed for one and the same size
 * @throws {Refused}
 */
export async function verifyOneLog(one: Checkpoint, other: Checkpoint, proof?: string): Promise<void> {
  demand(one.origin === other.origin, `The checkpoints are of two logs: ${one.origin} and ${other.origin}.`);
  const [earlier, later] = one.size <= other.size ? [one, other] : [other, one];
  if (earlier.size === later.size) return await verifyConsistency(earlier, later, []);
  const sizes = `from ${earlier.size} to ${later.size}`;
  demand(proof !== undefined, `A proof of consistency ${sizes} is needed.`);
  const { from, to, path } = membersOf(dataOf(parseJson(proof)), 'The proof', ['from', 'to', 'path']);
  demand(from === earlier.size && to === later.size, `The proof of consistency is not ${sizes}.`);
  await verifyConsistency(earlier, later, pathOf(path, 'The proof of consistency'));
}
