/** Receipts with all rows of their tree. A dishonest log can sign a tree of any leaves: every path and signature is right. */
import {
  type Descriptor,
  descriptorLeaf,
  editionLeaf,
  indicatorLeaf,
  MerkleTree,
  type ObservationLeaf,
  observationLeaf,
} from '../../../data/proofs/merkle-tree.ts';
import { hexPath, type Receipt, receiptOf } from '../../../data/proofs/receipt.ts';
import { type SigningKey, signCheckpoint } from '../../../data/proofs/signing-key.ts';
import type { Evidence, Genuine } from './tampering.ts';

const row = (iso3: string, year: number, value: number, status: string | null = null): ObservationLeaf => ({
  iso3,
  year,
  value,
  ci_lo: null,
  ci_hi: null,
  status,
  projected: false,
});
const [KENYA, FIRST, PERU, RIVAL] = [
  row('KEN', -40, 3),
  row('PER', 2022, 1.5),
  row('PER', 2023, 2, 'break'),
  row('PER', 2023, 3),
];
/** In the order of leaves. */
const ROWS = [KENYA, FIRST, PERU];

const DESCRIPTOR: Descriptor = { indicator: 'example.rain', unit: 'mm', provider: 'example', sources: [] };
const EDITION = {
  edition: '20261121T020500Z-11111111',
  published_at: '2026-11-21T02:05:00+00:00',
  indicators: 1,
  manifest: '1'.repeat(64),
};
const NOTICE = { licence: 'CC BY 4.0', licence_url: null, attribution: 'Example' };

/** @param leaves of the indicator's tree, as texts. @returns the receipt of a row in it */
function signed(key: SigningKey, leaves: readonly string[], proven: ObservationLeaf): Receipt {
  const tree = MerkleTree.of(leaves);
  const leaf = { indicator: DESCRIPTOR.indicator, rows: tree.size - 1, root: tree.root.toString('hex') };
  const indicators = MerkleTree.of([indicatorLeaf(leaf)]);
  const edition = { ...EDITION, root: indicators.root.toString('hex') };
  const log = MerkleTree.of([editionLeaf(edition)]);
  const places = {
    row: { tree, index: leaves.indexOf(observationLeaf(proven)) },
    indicator: { tree: indicators, index: 0 },
    edition: { tree: log, index: 0 },
  };
  const checkpoint = signCheckpoint(key, log);
  return receiptOf({ row: proven, descriptor: DESCRIPTOR, edition, checkpoint, notice: NOTICE, places });
}

const treeOf = (rows: readonly ObservationLeaf[]): string[] => [
  descriptorLeaf(DESCRIPTOR),
  ...rows.map(observationLeaf),
];

/** Sound and forged evidence, by name. */
export function wholeTrees({
  key,
}: Pick<Genuine, 'key'>): Record<'sound' | 'forged', Record<string, Evidence>> {
  const keys = JSON.stringify({ origin: key.name, keys: [{ key: key.publicKey, from: 1, to: null }] });
  const given = (receipt: Receipt, rows: unknown): Evidence => ({
    keys,
    receipt: JSON.stringify(receipt),
    rows: JSON.stringify(rows),
  });
  const honest = signed(key, treeOf(ROWS), PERU);
  const late = [...ROWS.map(observationLeaf), descriptorLeaf(DESCRIPTOR)];
  const secondDescriptor = [descriptorLeaf({ ...DESCRIPTOR, unit: 'km' }), ...late];
  const underSecond = signed(key, secondDescriptor, PERU);
  underSecond.proofs.descriptor = { index: 4, path: hexPath(MerkleTree.of(secondDescriptor).path(4)) };
  const twice = [KENYA, FIRST, PERU, RIVAL];
  return {
    sound: {
      'all rows': given(honest, ROWS),
      'all rows in the answer of the service': given(honest, { data: ROWS, meta: {} }),
      'all rows in another order': given(honest, ROWS.toReversed()),
      'all rows with further columns': given(
        honest,
        ROWS.map((one) => ({ ...one, rank: 1, indicator: 'x' })),
      ),
    },
    forged: {
      'a descriptor that is not the first leaf': { keys, receipt: JSON.stringify(underSecond) },
      'a tree with two rows of a country and year': given(signed(key, treeOf(twice), RIVAL), twice),
      'a tree with a row twice': given(signed(key, treeOf([...ROWS, PERU]), PERU), [...ROWS, PERU]),
      'a tree with two rows of a cell, one of them not shown': given(signed(key, treeOf(twice), RIVAL), [
        KENYA,
        FIRST,
        RIVAL,
      ]),
      'a tree in another order': given(signed(key, treeOf(ROWS.toReversed()), PERU), ROWS),
      'a row left out': given(honest, ROWS.slice(1)),
      'a row too many': given(honest, [...ROWS, row('ZWE', 2023, 1)]),
      'another value among the rows': given(honest, [KENYA, FIRST, { ...PERU, value: 2.5 }]),
      'another status among the rows': given(honest, [KENYA, FIRST, { ...PERU, status: 'B' }]),
      'a row without a status': given(
        honest,
        ROWS.map(({ status: _status, ...rest }) => rest),
      ),
      'rows that are no list': given(honest, { ...ROWS }),
      'no rows': given(honest, []),
      'a list of countries': given(honest, ['KEN', 'PER', 'PER']),
    },
  };
}
