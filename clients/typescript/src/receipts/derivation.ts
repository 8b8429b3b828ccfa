/** Receipts of derived figures: verified, and recomputed offline from the rows in them. `docs/receipts.md` fixes the form. */
import type { DecidedContainment } from '../../../../data/derived/aggregate.ts';
import {
  type Held,
  type Recipe,
  type Recomputed,
  type Rows,
  recompute,
  type SeriesRow,
  type SeriesRule,
  Underivable,
} from '../../../../data/derived/recompute.ts';
import { Refused } from '../errors.ts';
import { type Checkpoint, type LogKey, readCheckpoint } from './checkpoints.ts';
import { type Bytes, isSame, sha256, toHex, utf8 } from './crypto.ts';
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
import { type Leaf, leafHash, pathOf, rootOf, rootOfSeveral } from './merkle.ts';
import { DESCRIPTOR, EDITION, type Members, ROW } from './receipt.ts';

const FORMAT = 'almanac-derivation/1';
const DERIVATION = [
  ...(['format', 'recipe', 'figure', 'series', 'indicators', 'rules', 'manifest'] as const),
  ...(['edition', 'checkpoint', 'proof', 'notices'] as const),
];
const RECIPE = ['indicator', 'place', 'year', 'transform', 'aggregate'] as const;
const FIGURE = ['value', 'status', 'projected', 'counted', 'coverage'] as const;
const SERIES = ['descriptor', 'rows', 'given', 'path', 'index'] as const;
const RULE = ['indicator', 'measure', 'scale', 'aggregate', 'divisor', 'population', 'breaks'] as const;
/** How far a mean growth over several years, which takes a root, may differ. */
const ROOT_TOLERANCE = 1e-12;

/** What the receipt of a derived figure proves. */
export interface VerifiedDerivation {
  /** What was derived. */
  recipe: Recipe;
  /** As it is recomputed. */
  figure: Recomputed;
  /** Of the series whose rows it takes. */
  descriptors: Members<typeof DESCRIPTOR>[];
  edition: Members<typeof EDITION>;
  /** Of the edition's tree, which a lock pins: 64 hexadecimal digits. */
  root: string;
  checkpoint: Checkpoint;
}

/**
 * Verifies the receipt of a derived figure, and recomputes the figure from the rows in it. A row that it takes and that was
 * left out refuses it, as one changed digit does.
 * @param receipt the answer of the service, byte by byte as it came, or its text
 * @param keys from a moment at which you trusted the connection
 * @throws {Refused} with the reason
 * @throws {Unsupported} where the runtime has no Ed25519
 */
export async function verifyDerivation(
  receipt: Bytes | string,
  keys: readonly LogKey[],
): Promise<VerifiedDerivation> {
  const text = typeof receipt === 'string' ? receipt : decodeUtf8(receipt);
  const members = membersOf(dataOf(parseJson(text)), 'The derivation', DERIVATION);
  demand(members.format === FORMAT, `The format of the receipt is not ${FORMAT}.`);
  const edition = membersOf(members.edition, 'The edition', EDITION);
  const manifest = textOf(members.manifest, 'The manifest');
  const digest = toHex(await sha256(utf8(manifest)));
  demand(digest === edition.manifest, 'The manifest is not that of the edition.');
  const rules = new GivenRules(await provenRules(members.rules, manifest));
  const series = await Promise.all(listOf(members.series, 'The series').map(provenSeries));
  const indicators = countOf(edition.indicators, 'The number of indicators', 1);
  const what = 'The proof of the indicators';
  const leaves = series.map(({ leaf }) => leaf);
  const root = toHex(await rootOfSeveral(leaves, indicators, pathOf(members.indicators, what), what));
  const checkpoint = await readCheckpoint(textOf(members.checkpoint, 'The checkpoint'), keys);
  await proveEdition(members.proof, { ...edition, root }, checkpoint);
  const recipe = readRecipe(members.recipe);
  const figure = recomputed(recipe, rules, series);
  compare(recipe, figure, membersOf(members.figure, 'The figure', FIGURE));
  return {
    recipe,
    figure,
    descriptors: series.map(({ descriptor }) => descriptor),
    edition,
    root,
    checkpoint,
  };
}

async function proveEdition(proof: Json, leaf: Json, { size, root }: Checkpoint): Promise<void> {
  const what = 'The proof of the edition';
  const { index, path } = membersOf(proof, what, ['index', 'path']);
  const position = countOf(index, `${what}: the index`, 0);
  const found = await rootOf(await leafHash(canonicalJson(leaf)), position, size, pathOf(path, what), what);
  const altered =
    'A row, a descriptor, the edition or a path was altered: they do not lead to the checkpoint.';
  demand(isSame(found, root), altered);
}

const listOf = (value: Json, what: string): Json[] => {
  demand(Array.isArray(value), `${what} are not a list.`);
  return value;
};

interface Given {
  index: number;
  leaf: Json;
}

/** The leaves that are given of a tree. @param name of what each is */
const givenLeaves = (value: Json, name: string): Given[] =>
  listOf(value, `The leaves (${name})`).map((entry) => {
    const given = membersOf(entry, `A ${name}`, ['index', name]);
    return { index: countOf(given.index ?? null, `The index of a ${name}`, 0), leaf: given[name] ?? null };
  });

const hashed = async ({ index, leaf }: Given): Promise<Leaf> => ({
  index,
  hash: await leafHash(canonicalJson(leaf)),
});

interface ProvenSeries {
  descriptor: Members<typeof DESCRIPTOR>;
  rows: Rows;
  /** Its leaf in the tree of the edition. */
  leaf: Leaf;
}

async function provenSeries(value: Json): Promise<ProvenSeries> {
  const series = membersOf(value, 'A series', SERIES);
  const descriptor = membersOf(series.descriptor, 'The descriptor', DESCRIPTOR);
  const { indicator } = descriptor;
  const rows = countOf(series.rows, 'The number of rows', 1);
  const given = givenLeaves(series.given, 'row');
  const what = `The proof of ${indicator}`;
  for (const { index } of given) demand(index > 0, `${what}: the descriptor is not the first leaf.`);
  const leaves = await Promise.all([{ index: 0, leaf: descriptor }, ...given].map(hashed));
  const root = toHex(await rootOfSeveral(leaves, rows + 1, pathOf(series.path, what), what));
  const index = countOf(series.index, `${what}: the index`, 0);
  const leaf = await hashed({ index, leaf: { indicator, rows, root } });
  return { descriptor, rows: new GivenRows(rows, given), leaf };
}

/** The rows that a receipt holds of a series. */
class GivenRows implements Rows {
  readonly count: number;
  readonly #rows: readonly { index: number; row: SeriesRow }[];

  constructor(count: number, given: readonly Given[]) {
    this.count = count;
    this.#rows = given.map(({ index, leaf }) => ({ index, row: readRow(leaf) }));
    for (const [at, { row }] of this.#rows.entries()) {
      const next = this.#rows[at + 1]?.row;
      demand(next === undefined || isBefore(row, next.iso3, next.year), 'The rows are not in order.');
    }
  }

  before(iso3: string, year: number): number {
    return this.#rows.filter(({ row }) => isBefore(row, iso3, year + 1)).at(-1)?.index ?? 0;
  }

  at(index: number): SeriesRow {
    const found = this.#rows.find((one) => one.index === index);
    demand(found !== undefined, `Row ${index} of a series is needed, and left out.`);
    return found.row;
  }
}

const isBefore = (row: SeriesRow, iso3: string, year: number): boolean =>
  row.iso3 < iso3 || (row.iso3 === iso3 && row.year < year);

const yearOf = (value: Json): number => {
  demand(typeof value === 'number' && Number.isInteger(value), 'A year is not a year.');
  return value;
};

function readRow(leaf: Json): SeriesRow {
  const { iso3, year, value, status, projected } = membersOf(leaf, 'The row', ROW);
  demand(value === null || typeof value === 'number', 'A value is not a number.');
  return {
    iso3: textOf(iso3, 'A country'),
    year: yearOf(year),
    value,
    status: status === null ? null : textOf(status, 'A status'),
    projected: projected === true,
  };
}

async function provenRules(value: Json, manifest: string): Promise<Json[]> {
  const { given, path } = membersOf(value, 'The rules', ['given', 'path']);
  const { rules } = membersOf(parseJson(manifest), 'The manifest', ['rules'], 'and others');
  const { leaves, root } = membersOf(rules, 'The rules of the manifest', ['leaves', 'root']);
  const known = givenLeaves(given, 'rule');
  const what = 'The proof of the rules';
  const size = countOf(leaves, `${what}: the size`, 1);
  const found = await rootOfSeveral(await Promise.all(known.map(hashed)), size, pathOf(path, what), what);
  demand(toHex(found) === root, 'The rules are not those of the manifest.');
  return known.map(({ leaf }) => leaf);
}

/** What an edition says of series and groups. The hashes were verified: the build wrote them in this form. */
class GivenRules {
  readonly #leaves: readonly Json[];

  constructor(leaves: readonly Json[]) {
    this.#leaves = leaves;
  }

  rule(indicator: string): SeriesRule {
    const found = this.#find('indicator', indicator, `What ${indicator} measures is left out.`);
    return membersOf(found, 'The rule of a series', RULE) as unknown as SeriesRule;
  }

  members(group: string): readonly string[] {
    const found = this.#find('group', group, `The members of @${group} are left out.`);
    const { members } = membersOf(found, 'A group', ['group', 'members']);
    return listOf(members, 'Members').map((code) => textOf(code, 'A member'));
  }

  territories(): readonly DecidedContainment[] {
    const found = this.#find('territories', null, 'The territories are left out.');
    const { territories } = membersOf(found, 'Territories', ['territories']);
    return listOf(territories, 'Territories') as unknown as DecidedContainment[];
  }

  /** @param value null where every value will do */
  #find(member: string, value: string | null, sentence: string): Json {
    const found = this.#leaves.find((leaf) => {
      const isObject = typeof leaf === 'object' && leaf !== null && !Array.isArray(leaf);
      return isObject && Object.hasOwn(leaf, member) && (value === null || leaf[member] === value);
    });
    demand(found !== undefined, sentence);
    return found;
  }
}

function readRecipe(value: Json): Recipe {
  const { indicator, place, year, transform, aggregate } = membersOf(value, 'The recipe', RECIPE);
  demand(aggregate === null || aggregate === 'declared', 'The figures of members become one otherwise.');
  return {
    indicator: textOf(indicator, 'The indicator'),
    place: textOf(place, 'The place'),
    year: yearOf(year),
    transform: listOf(transform, 'The transforms').map((word) => textOf(word, 'A transform')),
    aggregate,
  };
}

function recomputed(recipe: Recipe, rules: GivenRules, series: readonly ProvenSeries[]): Recomputed {
  const held: Held = {
    rule: (indicator) => rules.rule(indicator),
    members: (group) => rules.members(group),
    territories: () => rules.territories(),
    rows: (indicator) => {
      const found = series.find(({ descriptor }) => descriptor.indicator === indicator);
      demand(found !== undefined, `The rows of ${indicator} are left out.`);
      return found.rows;
    },
  };
  try {
    return recompute(recipe, held);
  } catch (error) {
    throw error instanceof Underivable ? new Refused(error.message) : error;
  }
}

function compare({ transform }: Recipe, found: Recomputed, stated: Members<typeof FIGURE>): void {
  const { value } = stated;
  demand(typeof value === 'number' && found.value !== null, 'There is no such figure.');
  const takesRoot = transform.some((word) => word.startsWith('growth:') && word !== 'growth:1');
  const tolerance = takesRoot ? ROOT_TOLERANCE * Math.abs(found.value) : 0;
  const isSameFigure = value === found.value || Math.abs(value - found.value) <= tolerance;
  demand(isSameFigure, `The figure is ${found.value}, not ${value}.`);
  for (const name of ['status', 'projected', 'counted', 'coverage'] as const)
    demand(found[name] === stated[name], `The figure has another ${name}: ${found[name]}.`);
}
