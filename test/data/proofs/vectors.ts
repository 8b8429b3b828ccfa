/**
 * The test vectors of docs/receipts.md: a log of three editions with three indicators, made up, signed by two keys.
 * `node test/style/write-documentation-tables.ts` writes them into the page.
 */
import { createHash } from 'node:crypto';
import { type Recipe, recompute } from '../../../data/derived/recompute.ts';
import {
  descriptorLeaf,
  editionLeaf,
  indicatorLeaf,
  MerkleTree,
  type ObservationLeaf,
  observationLeaf,
  type RuleLeaf,
  rulesTree,
} from '../../../data/proofs/merkle-tree.ts';
import {
  type DerivationReceipt,
  derivationReceipt,
  hexPath,
  NotedRows,
  NotedRules,
  notedHeld,
  receiptOf,
} from '../../../data/proofs/receipt.ts';
import { generateSigningKey, parseSigningKey, signCheckpoint } from '../../../data/proofs/signing-key.ts';
import { leafHash, nodeHash } from '../../../data/proofs/verify-receipt.ts';

const ORIGIN = 'almanac.example/log';
const keyOf = (byte: number) => parseSigningKey(generateSigningKey(ORIGIN, new Uint8Array(32).fill(byte)));
const [FIRST_KEY, SECOND_KEY] = [keyOf(1), keyOf(2)];
/** A key of the same name that is on no list. */
const STRANGER = keyOf(3);

const digest = (digit: string): string => digit.repeat(64);
const observed = (iso3: string, year: number, value: number | null, rest?: Partial<ObservationLeaf>) => ({
  iso3,
  year,
  value,
  ci_lo: null,
  ci_hi: null,
  status: null,
  projected: false,
  ...rest,
});
const source = (file: string, sha256: string) => ({
  url: `https://provider.example/${file}`,
  sha256,
  bytes: 1234,
  fetched_at: '2026-11-20T02:00:07+00:00',
});
const descriptor = (slug: string, unit: string | null, sources: ReturnType<typeof source>[]) => ({
  indicator: `example.${slug}`,
  unit,
  provider: 'example',
  sources,
});

const RAIN = [
  observed('DEU', 2022, 669.4),
  observed('DEU', 2023, 958, { ci_lo: 950.25, ci_hi: 965.75, status: 'provisional' }),
  observed('DEU', 2027, null, { projected: true }),
  observed('FRA', 2022, 1e21),
  observed('FRA', 2023, -2.5e-7),
];
const INDICATORS = [
  {
    descriptor: descriptor('rain', 'mm "net"', [source('a.csv', digest('a')), source('b.csv', digest('b'))]),
    rows: RAIN,
  },
  { descriptor: descriptor('snow', null, [source('a.csv', digest('a'))]), rows: [observed('DEU', 2022, 0)] },
  { descriptor: descriptor('wind', 'm/s', []), rows: [observed('DEU', 2022, 3.5), observed('FRA', 2022, 4)] },
];
type Indicator = Pick<(typeof INDICATORS)[number], 'descriptor' | 'rows'>;

const indicatorTree = ({ descriptor, rows }: Indicator): MerkleTree =>
  MerkleTree.of([descriptorLeaf(descriptor), ...rows.map(observationLeaf)]);

const editionTree = (indicators: readonly Indicator[]): MerkleTree =>
  MerkleTree.of(
    indicators.map((one) => {
      const root = indicatorTree(one).root.toString('hex');
      return indicatorLeaf({ indicator: one.descriptor.indicator, rows: one.rows.length, root });
    }),
  );

/** In each edition the value of snow is another. */
const indicatorsOf = (edition: number): Indicator[] =>
  INDICATORS.map((one) =>
    one.descriptor.unit === null ? { ...one, rows: [observed('DEU', 2022, edition)] } : one,
  );

const EDITIONS = [0, 1, 2].map((number) => {
  const day = 20 + number;
  return {
    edition: `202611${day}T020500Z-${String(number).repeat(8)}`,
    published_at: `2026-11-${day}T02:05:00+00:00`,
    indicators: INDICATORS.length,
    root: editionTree(indicatorsOf(number)).root.toString('hex'),
    manifest: digest(String(number)),
  };
});
const LOG = MerkleTree.of(EDITIONS.map(editionLeaf));

const NOTICE = { licence: 'CC BY 4.0', licence_url: null, attribution: 'Example' };

/** The receipt for one row of rain in the second edition, under a log that the second key signed. */
function receiptFor(index: number, log: MerkleTree) {
  const [rain] = INDICATORS;
  const [row, edition] = [RAIN[index], EDITIONS[1]];
  if (!rain || !row || !edition) throw new RangeError('no such row');
  return receiptOf({
    row,
    descriptor: rain.descriptor,
    edition,
    notice: NOTICE,
    checkpoint: signCheckpoint(SECOND_KEY, log),
    places: {
      row: { tree: indicatorTree(rain), index: index + 1 },
      indicator: { tree: editionTree(indicatorsOf(1)), index: 0 },
      edition: { tree: log, index: 1 },
    },
  });
}

const firstTwo = MerkleTree.of(EDITIONS.slice(0, 2).map(editionLeaf));

export const VECTORS = {
  keys: {
    origin: ORIGIN,
    keys: [
      { key: FIRST_KEY.publicKey, from: 1, to: 2 },
      { key: SECOND_KEY.publicKey, from: 3, to: null },
    ],
  },
  receipts: RAIN.map((_, index) => receiptFor(index, LOG)),
  /** The checkpoint of the log of two editions. */
  earlier: signCheckpoint(FIRST_KEY, firstTwo),
  consistency: { from: 2, to: 3, path: hexPath(LOG.consistency(2)) },
};

/** What forgeries are made from, for each of the receipts. */
export const GENUINE = VECTORS.receipts.map((receipt) => ({
  receipt,
  keys: VECTORS.keys,
  earlier: VECTORS.earlier,
  consistency: VECTORS.consistency,
  key: SECOND_KEY,
  earlierKey: FIRST_KEY,
  stranger: STRANGER,
}));

/** One figure under logs of 2 to 17 editions, which begin alike. */
export const GROWN = Array.from({ length: 16 }, (_, index) => {
  const later = Array.from({ length: index }, (_, number) => `edition ${number}`);
  const log = MerkleTree.of([...EDITIONS.slice(0, 2).map(editionLeaf), ...later]);
  return { log, receipt: receiptFor(1, log) };
});
type Grown = (typeof GROWN)[number];

/** A receipt, and the checkpoint of another one as that which was kept. */
export function evidenceOfGrowth({ log, receipt }: Grown, kept: Grown) {
  const [earlier, later] = log.size < kept.log.size ? [log, kept.log] : [kept.log, log];
  const { size: from } = earlier;
  return {
    receipt: JSON.stringify(receipt),
    keys: JSON.stringify({ origin: ORIGIN, keys: [{ key: SECOND_KEY.publicKey, from: 1, to: null }] }),
    since: kept.receipt.checkpoint,
    consistency: JSON.stringify({ from, to: later.size, path: hexPath(later.consistency(from)) }),
  };
}

const PEOPLE = 'example.people';
const INCOME = 'example.income';
const RULES: RuleLeaf[] = [
  { territories: [] },
  { group: 'trio', members: ['DEU', 'FRA', 'ITA'] },
  ...[INCOME, PEOPLE].map((indicator) => ({
    indicator,
    measure: indicator === INCOME ? ('amount' as const) : ('count' as const),
    scale: 9,
    aggregate: 'sum' as const,
    divisor: PEOPLE,
    population: PEOPLE,
    breaks: [],
  })),
];
const TAKEN = [
  {
    descriptor: descriptor('income', 'billion', []),
    rows: [
      observed('DEU', 2021, 4.3),
      observed('DEU', 2022, 4.1),
      observed('DEU', 2023, 4.5),
      observed('FRA', 2023, 3),
      observed('ITA', 2022, 2),
    ],
  },
  {
    descriptor: descriptor('people', 'billion', []),
    rows: [observed('DEU', 2021, 0.083), observed('DEU', 2023, 0.084, { status: 'estimated' })],
  },
];
/** A sum over three countries, of which the last has no figure in the year; and a chain of two transforms. */
export const DERIVED: Readonly<Record<'derivation-example' | 'derivation-chain', Recipe>> = {
  'derivation-example': {
    indicator: INCOME,
    place: '@trio',
    year: 2023,
    transform: [],
    aggregate: 'declared',
  },
  'derivation-chain': {
    indicator: INCOME,
    place: 'DEU',
    year: 2023,
    transform: ['per_head', 'growth:2'],
    aggregate: null,
  },
};

export function derivationVector(recipe: Recipe): DerivationReceipt {
  const series = new Map(TAKEN.map((one) => [one.descriptor.indicator, new NotedRows(one.rows)]));
  const rules = new NotedRules(RULES);
  const figure = recompute(recipe, notedHeld(rules, series));
  const tree = rulesTree(RULES);
  const manifest = JSON.stringify({ rules: { leaves: tree.size, root: tree.root.toString('hex') } });
  const indicators = editionTree(TAKEN);
  const edition = {
    edition: '20261122T020500Z-33333333',
    published_at: '2026-11-22T02:05:00+00:00',
    indicators: TAKEN.length,
    root: indicators.root.toString('hex'),
    manifest: createHash('sha256').update(manifest).digest('hex'),
  };
  const log = MerkleTree.of([...EDITIONS, edition].map(editionLeaf));
  const taken = TAKEN.flatMap((one, index) => {
    const { seen, rows } = series.get(one.descriptor.indicator) ?? new NotedRows([]);
    const { descriptor } = one;
    return seen.length > 0 ? [{ descriptor, tree: indicatorTree(one), rows, taken: seen, index }] : [];
  });
  return derivationReceipt({
    recipe,
    figure,
    series: taken,
    indicators,
    manifest,
    edition,
    notices: taken.map(({ descriptor: { indicator } }) => ({ indicator, ...NOTICE })),
    rules: { tree, leaves: RULES, taken: rules.seen },
    checkpoint: signCheckpoint(SECOND_KEY, log),
    place: { tree: log, index: 3 },
  });
}

const fenced = (language: string, text: string): string => `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;
const json = (value: unknown): string => JSON.stringify(value, null, 2);
/** A member a line. */
const byMember = (value: object): string =>
  `{\n${Object.entries(value)
    .map(([name, member]) => `${JSON.stringify(name)}: ${JSON.stringify(member)}`)
    .join(',\n')}\n}`;

/** The steps of the first receipt with bounds, each hash worked out. */
function workedExample(): string {
  const [, receipt] = VECTORS.receipts;
  if (!receipt) throw new RangeError('no receipt');
  const lines: string[] = [];
  const show = (name: string, hash: Buffer): Buffer => {
    lines.push(`${name.padEnd(24)} ${hash.toString('hex')}`);
    return hash;
  };
  const climb = (leaf: string, path: readonly string[], sides: string): Buffer => {
    lines.push(leaf);
    let hash = show('leaf', leafHash(leaf));
    for (const [step, sibling] of path.entries()) {
      const other = Buffer.from(sibling, 'hex');
      const isLeft = sides[step] === 'l';
      hash = show(
        isLeft ? 'node(path, hash)' : 'node(hash, path)',
        isLeft ? nodeHash(other, hash) : nodeHash(hash, other),
      );
    }
    lines.push('');
    return hash;
  };
  const { row, descriptor, rows, edition, proofs } = receipt;
  const indicatorRoot = climb(observationLeaf(row), proofs.row.path, 'rlr').toString('hex');
  climb(descriptorLeaf(descriptor), proofs.descriptor.path, 'rrr');
  const leaf = { indicator: descriptor.indicator, rows, root: indicatorRoot };
  const editionRoot = climb(indicatorLeaf(leaf), proofs.indicator.path, 'rr').toString('hex');
  climb(editionLeaf({ ...edition, root: editionRoot }), proofs.edition.path, 'lr');
  return lines.join('\n');
}

/** The generated blocks of docs/receipts.md by name. */
export const VECTOR_BLOCKS: Readonly<Record<string, () => string>> = {
  'receipt-keys': () => fenced('json', json(VECTORS.keys)),
  'receipt-example': () => fenced('json', json(VECTORS.receipts[1])),
  'receipt-steps': () => fenced('', workedExample()),
  'receipt-checkpoint': () => fenced('', VECTORS.earlier),
  'receipt-consistency': () => fenced('json', json(VECTORS.consistency)),
  'derivation-example': () => fenced('json', json(derivationVector(DERIVED['derivation-example']))),
  'derivation-chain': () => fenced('json', byMember(derivationVector(DERIVED['derivation-chain']))),
  'receipt-leaves': () => fenced('', RAIN.map(observationLeaf).join('\n')),
};
