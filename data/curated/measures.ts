/**
 * Reads `measures.csv`: what series measure, how their figures give the figure of a group, and by which population they
 * are divided per head.
 *
 * A row decides for one series, for a concept, or, as a rule, for all series whose name and unit fit. A series' own row
 * counts before that of its concept, and this before the first rule that fits. Weights and populations are series or
 * concepts; which series of a concept it is, the build decides among the published ones.
 *
 * Reads `territories.csv`, too.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type MeasureRow, measureRow, type Territory, territory } from '../schema/curated.ts';
import { INDICATOR_ID } from '../schema/records.ts';
import type { Concepts } from './concepts.ts';
import type { Spine } from './places.ts';
import { asNumber, checkedRows, checkProvider, type Position, type Problems } from './table.ts';

export interface CuratedMeasure extends MeasureRow {
  /** Line of the row. */
  line: number;
}

export class Measures {
  readonly #bySubject: ReadonlyMap<string, CuratedMeasure>;
  readonly #rules: readonly { row: CuratedMeasure; fits: (name: string, unit: string) => boolean }[];
  readonly #concepts: Concepts;

  constructor(rows: readonly CuratedMeasure[], concepts: Concepts) {
    this.#bySubject = new Map(rows.flatMap((row) => (row.subject === null ? [] : [[row.subject, row]])));
    this.#rules = rows.flatMap((row) => (row.subject === null ? [{ row, fits: matcher(row) }] : []));
    this.#concepts = concepts;
  }

  /** Without rows nothing is decided. */
  get isEmpty(): boolean {
    return this.#bySubject.size + this.#rules.length === 0;
  }

  /** The row of a series or of its concept. */
  rowFor(indicator: string): CuratedMeasure | undefined {
    const concept = this.#concepts.of(indicator)?.concept.id ?? '';
    return this.#bySubject.get(indicator) ?? this.#bySubject.get(concept);
  }

  /** The first rule that fits. @param unit as `describeUnit` of the build writes it */
  ruleFor(name: string, unit: string): CuratedMeasure | undefined {
    return this.#rules.find(({ fits }) => fits(name, unit))?.row;
  }

  /** The slugs of a provider's series that rows name, as a subject, a weight or a population, with the first line. */
  namesOf(providerId: string): { slug: string; line: number }[] {
    const prefix = `${providerId}.`;
    const rows = [...this.#bySubject.values(), ...this.#rules.map(({ row }) => row)];
    const lines = new Map<string, number>();
    for (const { subject, weight, per_head, line } of rows)
      for (const id of [subject, weight, per_head])
        if (id?.startsWith(prefix) && !lines.has(id)) lines.set(id, line);
    return [...lines].map(([id, line]) => ({ slug: id.slice(prefix.length), line }));
  }
}

function matcher({ name, unit }: MeasureRow): (name: string, unit: string) => boolean {
  const inName = new RegExp(name ?? '', 'iu');
  const wholeUnit = unit === null ? /^/u : new RegExp(`^(?:${unit})$`, 'iu');
  return (ownName, ownUnit) => inName.test(ownName) && wholeUnit.test(ownUnit);
}

/** Without the file, no measures. @param providers the ids that there are */
export function loadMeasures(
  dir: string,
  concepts: Concepts,
  providers: ReadonlySet<string>,
  problems: Problems,
): Measures {
  const file = join(dir, 'measures.csv');
  if (!existsSync(file)) return new Measures([], concepts);
  const found = checkedRows(measureRow, file, problems, (cells) => ({
    ...cells,
    scale: asNumber(cells.scale),
  }));
  const rows: CuratedMeasure[] = [];
  for (const { row, ...at } of found) {
    for (const id of [row.subject, row.weight, row.per_head].filter((one) => one !== null))
      if (INDICATOR_ID.test(id)) checkProvider(id, providers, at, problems);
      else if (!concepts.members.has(id)) problems.add(at, `there is no concept "${id}"`);
    rows.push({ ...row, line: at.line });
  }
  for (const row of rows) checkSubject(row, rows, concepts, { file, line: row.line }, problems);
  return new Measures(rows, concepts);
}

/** A subject has one row, and a series measures what its concept does. */
function checkSubject(
  row: CuratedMeasure,
  rows: readonly CuratedMeasure[],
  concepts: Concepts,
  at: Position,
  problems: Problems,
): void {
  const { subject } = row;
  if (subject === null) return;
  const first = rows.find((one) => one.subject === subject);
  if (first !== undefined && first !== row)
    problems.add(at, `${subject} has a row in line ${first.line} already`);
  const concept = concepts.of(subject)?.concept.id;
  const own = rows.find((one) => concept !== undefined && one.subject === concept);
  if (own !== undefined && own.measure !== row.measure)
    problems.add(
      at,
      `${subject} has the measure ${row.measure}, but its concept ${concept} has ${own.measure} in line ${own.line}`,
    );
}

const CONTAINED: Record<string, boolean> = { yes: true, no: false };
const EVERY = '*';

/**
 * Reads `territories.csv`: places of which the figure of one may include the other. It is decided by the rows of the series,
 * else by those of its provider, else by those of all providers (`*`). In file order; none without the file.
 * @param providers the ids that there are
 */
export function loadTerritories(
  file: string,
  { named }: Pick<Spine, 'named'>,
  providers: ReadonlySet<string>,
  problems: Problems,
): Territory[] {
  if (!existsSync(file)) return [];
  const found: Territory[] = [];
  const rows = checkedRows(territory, file, problems, ({ from, to, contained, ...cells }) => ({
    ...cells,
    from: asNumber(from),
    to: asNumber(to),
    contained: contained === null ? null : (CONTAINED[contained] ?? contained),
  }));
  for (const { row: one, ...at } of rows) {
    const { provider, parent, child } = one;
    const [owner = ''] = provider.split('.', 1);
    if (provider !== EVERY && !providers.has(owner)) problems.add(at, `there is no provider "${owner}"`);
    for (const iso3 of [parent, child])
      if (!named.has(iso3)) problems.add(at, `${iso3}: there is no such country`);
    if (parent === child) problems.add(at, `${parent} does not contain itself`);
    if (found.some((other) => isSamePair(other, one) && overlaps(other, one)))
      problems.add(at, `${parent} and ${child} are decided for these years already`);
    found.push(one);
  }
  return found;
}

const isSamePair = (a: Territory, b: Territory): boolean =>
  a.provider === b.provider && a.parent === b.parent && a.child === b.child;

const overlaps = (a: Territory, b: Territory): boolean =>
  (a.from ?? -Infinity) <= (b.to ?? Infinity) && (b.from ?? -Infinity) <= (a.to ?? Infinity);
