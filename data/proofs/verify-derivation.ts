/**
 * Verifies the receipt of a derived figure offline, and recomputes the figure from the rows in it.
 *
 * It imports the verifier of receipts and the arithmetic in `data/derived`, which import nothing of Almanac.
 */
import { createHash } from 'node:crypto';
import type { DecidedContainment } from '../derived/aggregate.ts';
import {
  type Held,
  type Recipe,
  type Recomputed,
  type Rows,
  recompute,
  type SeriesRow,
  type SeriesRule,
  Underivable,
} from '../derived/recompute.ts';
import {
  canonicalJson,
  countOf,
  DESCRIPTOR,
  dataOf,
  demand,
  EDITION,
  type Json,
  type LogKey,
  leafHash,
  type Members,
  membersOf,
  nodeHash,
  parseJson,
  pathOf,
  Refused,
  ROW,
  readCheckpoint,
  rootOf,
  textOf,
} from './verify-receipt.ts';

export const DERIVATION_FORMAT = 'almanac-derivation/1';
const DERIVATION = 'format recipe figure series indicators rules manifest edition checkpoint proof notices';
const RECIPE = 'indicator place year transform aggregate';
const FIGURE = 'value status projected counted coverage';
const SERIES = 'descriptor rows given path index';
/** Of leaves of the tree of rules. */
const [TERRITORIES, GROUP, RULE] = [
  'territories',
  'group members',
  'indicator measure scale aggregate divisor population breaks',
];

interface Leaf {
  index: number;
  hash: Buffer;
}

/** The root over some leaves and the roots of the parts of the tree without any, from left to right. @param leaves ascending */
export function rootOfSeveral(
  leaves: readonly Leaf[],
  size: number,
  path: readonly Buffer[],
  what: string,
): Buffer {
  let used = 0;
  const climb = (own: readonly Leaf[], from: number, to: number): Buffer => {
    const [leaf] = own;
    if (leaf === undefined) {
      const hash = path[used];
      demand(hash !== undefined, `${what}: the path is too short.`);
      used += 1;
      return hash;
    }
    if (to - from === 1) return leaf.hash;
    let half = 1;
    while (half * 2 < to - from) half *= 2;
    const middle = from + half;
    const { left = [], right = [] } = Object.groupBy(own, ({ index }) => (index < middle ? 'left' : 'right'));
    return nodeHash(climb(left, from, middle), climb(right, middle, to));
  };
  for (const [at, { index }] of leaves.entries())
    demand(index > (leaves[at - 1]?.index ?? -1), `${what}: the leaves are not in order.`);
  demand((leaves.at(-1)?.index ?? 0) < size, `${what}: a leaf lies outside its tree.`);
  const root = climb(leaves, 0, size);
  demand(used === path.length, `${what}: the path is too long.`);
  return root;
}

const listOf = (value: Json | undefined, what: string): Json[] => {
  demand(Array.isArray(value), `${what} are not a list.`);
  return value;
};

/** The leaves that are given of a tree. @param name of what each is */
function givenLeaves(value: Json | undefined, name: string): { index: number; leaf: Json }[] {
  return listOf(value, `The leaves (${name})`).map((entry) => {
    const given = membersOf(entry, `A ${name}`, `index ${name}`);
    return { index: countOf(given.index, `The index of a ${name}`, 0), leaf: given[name] ?? null };
  });
}

const hashed = ({ index, leaf }: { index: number; leaf: Json }): Leaf => ({
  index,
  hash: leafHash(canonicalJson(leaf)),
});

type ProvenSeries = ReturnType<typeof provenSeries>;

function provenSeries(value: Json) {
  const series = membersOf(value, 'A series', SERIES);
  const descriptor = membersOf(series.descriptor, 'The descriptor', DESCRIPTOR);
  const rows = countOf(series.rows, 'The number of rows', 1);
  const given = givenLeaves(series.given, 'row');
  const what = `The proof of ${descriptor.indicator}`;
  for (const { index } of given) demand(index > 0, `${what}: the descriptor is not the first leaf.`);
  const leaves = [{ index: 0, leaf: descriptor }, ...given].map(hashed);
  const root = rootOfSeveral(leaves, rows + 1, pathOf(series.path, what), what).toString('hex');
  const leaf = { indicator: descriptor.indicator ?? null, rows, root };
  const index = countOf(series.index, `${what}: the index`, 0);
  /** Its leaf is in the tree of the edition. */
  return { descriptor, rows: givenRows(rows, given), leaf: hashed({ index, leaf }) };
}

/** The rows that a receipt holds of a series. */
function givenRows(count: number, given: readonly { index: number; leaf: Json }[]): Rows {
  const rows = given.map(({ index, leaf }) => ({ index, row: readRow(leaf) }));
  const byIndex = new Map(rows.map(({ index, row }) => [index, row]));
  for (const [at, { row }] of rows.entries()) {
    const next = rows[at + 1]?.row;
    demand(next === undefined || isBefore(row, next.iso3, next.year), 'The rows are not in order.');
  }
  return {
    count,
    before: (iso3, year) => rows.findLast(({ row }) => isBefore(row, iso3, year + 1))?.index ?? 0,
    at(index) {
      const row = byIndex.get(index);
      demand(row !== undefined, `Row ${index} of a series is needed, and left out.`);
      return row;
    },
  };
}

const isBefore = (row: SeriesRow, iso3: string, year: number): boolean =>
  row.iso3 < iso3 || (row.iso3 === iso3 && row.year < year);

function readRow(value: Json): SeriesRow {
  const { iso3, year, value: figure, status, projected } = membersOf(value, 'The row', ROW);
  demand(typeof year === 'number' && Number.isInteger(year), 'A year is not a year.');
  demand(figure === null || typeof figure === 'number', 'A value is not a number.');
  const text = status === null ? null : textOf(status, 'A status');
  return {
    iso3: textOf(iso3, 'A country'),
    year,
    value: figure,
    status: text,
    projected: projected === true,
  };
}

const hasMember = (value: Json, name: string): boolean =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name);

type GivenRules = Omit<Held, 'rows'>;

/** What an edition says of series and groups. Their hashes were verified: the build wrote the leaves in this form. */
function givenRules(leaves: readonly Json[]): GivenRules {
  const series = new Map<string, SeriesRule>();
  const groups = new Map<string, readonly string[]>();
  let given: readonly DecidedContainment[] | undefined;
  for (const leaf of leaves) {
    if (hasMember(leaf, 'indicator')) {
      const rule = membersOf(leaf, 'The rule of a series', RULE) as unknown as SeriesRule;
      series.set(rule.indicator, rule);
    } else if (hasMember(leaf, 'group')) {
      const { group, members } = membersOf(leaf, 'A group', GROUP);
      const codes = listOf(members, 'Members').map((code) => textOf(code, 'A member'));
      groups.set(textOf(group, 'A group'), codes);
    } else {
      const { territories } = membersOf(leaf, 'Territories', TERRITORIES);
      given = listOf(territories, 'Territories') as unknown as DecidedContainment[];
    }
  }
  const held = <Value>(value: Value | undefined, sentence: string): Value => {
    demand(value !== undefined, sentence);
    return value;
  };
  return {
    rule: (indicator) => held(series.get(indicator), `What ${indicator} measures is left out.`),
    members: (group) => held(groups.get(group), `The members of @${group} are left out.`),
    territories: () => held(given, 'The territories are left out.'),
  };
}

function provenRules(value: Json | undefined, manifest: string): GivenRules {
  const { given, path } = membersOf(value, 'The rules', 'given path');
  const { rules } = membersOf(parseJson(manifest), 'The manifest', 'rules', 'and others');
  const { leaves, root } = membersOf(rules, 'The rules of the manifest', 'leaves root');
  const known = givenLeaves(given, 'rule');
  const what = 'The proof of the rules';
  const size = countOf(leaves, `${what}: the size`, 1);
  const found = rootOfSeveral(known.map(hashed), size, pathOf(path, what), what).toString('hex');
  demand(found === root, 'The rules are not those of the manifest.');
  return givenRules(known.map(({ leaf }) => leaf));
}

export type VerifiedDerivation = ReturnType<typeof verifyDerivation>;

/** @param keys null: the signature is not verified @throws {Refused} */
export function verifyDerivation(text: string, keys: readonly LogKey[] | null) {
  const receipt = membersOf(dataOf(parseJson(text)), 'The derivation', DERIVATION);
  demand(receipt.format === DERIVATION_FORMAT, `The format of the receipt is not ${DERIVATION_FORMAT}.`);
  const edition = membersOf(receipt.edition, 'The edition', EDITION);
  const manifest = textOf(receipt.manifest, 'The manifest');
  const manifestHash = createHash('sha256').update(manifest).digest('hex');
  demand(manifestHash === edition.manifest, 'The manifest is not that of the edition.');
  const rules = provenRules(receipt.rules, manifest);
  const series = listOf(receipt.series, 'The series').map(provenSeries);
  const indicators = countOf(edition.indicators, 'The number of indicators', 1);
  const what = 'The proof of the indicators';
  const leaves = series.map(({ leaf }) => leaf);
  const editionRoot = rootOfSeveral(leaves, indicators, pathOf(receipt.indicators, what), what);
  const checkpoint = readCheckpoint(textOf(receipt.checkpoint, 'The checkpoint'), keys);
  const { index, path } = membersOf(receipt.proof, 'The proof of the edition', 'index path');
  const editionLeaf = leafHash(canonicalJson({ ...edition, root: editionRoot.toString('hex') }));
  const position = countOf(index, 'The proof of the edition: the index', 0);
  const editionPath = pathOf(path, 'The proof of the edition');
  const root = rootOf(editionLeaf, position, checkpoint.size, editionPath, 'The proof of the edition');
  demand(root.equals(checkpoint.root), 'The receipt does not lead to the root of its checkpoint.');
  const recipe = readRecipe(receipt.recipe);
  const figure = recomputed(recipe, rules, series);
  verifyFigure(recipe, figure, membersOf(receipt.figure, 'The figure', FIGURE));
  /** Of the series whose figures it takes. */
  const descriptors = series.map(({ descriptor }) => descriptor);
  return { recipe, figure, descriptors, edition, checkpoint };
}

function readRecipe(value: Json | undefined): Recipe {
  const { indicator, place, year, transform, aggregate } = membersOf(value, 'The recipe', RECIPE);
  demand(typeof year === 'number' && Number.isInteger(year), 'The year is not a year.');
  const isKnown = aggregate === null || aggregate === 'declared';
  demand(isKnown, 'The figures of members are put together otherwise.');
  return {
    year,
    aggregate,
    indicator: textOf(indicator, 'The indicator'),
    place: textOf(place, 'The place'),
    transform: listOf(transform, 'The transforms').map((word) => textOf(word, 'A transform')),
  };
}

function recomputed(recipe: Recipe, rules: GivenRules, series: readonly ProvenSeries[]): Recomputed {
  const rows: Held['rows'] = (indicator) => {
    const found = series.find(({ descriptor }) => descriptor.indicator === indicator);
    demand(found !== undefined, `The rows of ${indicator} are left out.`);
    return found.rows;
  };
  try {
    return recompute(recipe, { ...rules, rows });
  } catch (error) {
    throw error instanceof Underivable ? new Refused(error.message) : error;
  }
}

/** How far a mean growth over several years, which takes a root, may differ. */
const ROOT_TOLERANCE = 1e-12;

function verifyFigure({ transform }: Recipe, found: Recomputed, stated: Members): void {
  const { value } = stated;
  demand(typeof value === 'number' && found.value !== null, 'There is no such figure.');
  const takesRoot = transform.some((word) => word.startsWith('growth:') && word !== 'growth:1');
  const tolerance = takesRoot ? ROOT_TOLERANCE * Math.abs(found.value) : 0;
  const isSame = value === found.value || Math.abs(value - found.value) <= tolerance;
  demand(isSame, `The figure is ${found.value}, not ${value}.`);
  for (const name of ['status', 'projected', 'counted', 'coverage'] as const)
    demand(found[name] === stated[name], `The figure has another ${name}: ${found[name]}.`);
}
