/**
 * Recomputes one derived figure from published rows, looking at no row that it does not need. Who makes a receipt notes which
 * rows were looked at; who verifies it has only these, and comes to the same figure. That a country has no row in a year is
 * seen from the two rows between which it would lie.
 */
import {
  containmentsOf,
  counts,
  type DecidedContainment,
  type GroupFigure,
  type GroupMember,
  groupFigure,
  type YearValues,
  yearValues,
} from './aggregate.ts';
import {
  breaksOf,
  derive,
  type Figure,
  type FoundBreak,
  type History,
  SHARE_COVERAGE,
} from './derivation.ts';
import {
  judgeTransforms,
  type Measure,
  type Measured,
  parseTransforms,
  type Transform,
} from './transforms.ts';

/** What is derived: the figure of a place in a year. */
export type Recipe = {
  indicator: string;
  /** ISO3 of a country, or `@` and the id of a group. */
  place: string;
  year: number;
  /** Each in full. */
  transform: string[];
  /** How the figure of a group is made; null for a country. */
  aggregate: 'declared' | null;
};

/** What an edition says of a series. */
export type SeriesRule = {
  indicator: string;
  measure: Measure;
  /** The power of ten of its figures. */
  scale: number;
  aggregate: 'sum' | 'mean' | 'none';
  /** The weights of a mean; of a sum the population by which members without any figure count in the coverage. */
  divisor: string | null;
  population: string | null;
  breaks: FoundBreak[];
};

export type SeriesRow = {
  iso3: string;
  year: number;
  value: number | null;
  status: string | null;
  projected: boolean;
};

/** The rows of a series by country and year, counted from 1. */
export interface Rows {
  readonly count: number;
  /** The last known row that is not after a country and year, which may be of another country; 0 without any. */
  before(iso3: string, year: number): number;
  at(index: number): SeriesRow;
}

/** What an edition holds. Each fails where it does not know. */
export interface Held {
  rule(indicator: string): SeriesRule;
  /** ISO3 codes, sorted. */
  members(group: string): readonly string[];
  territories(): readonly DecidedContainment[];
  rows(indicator: string): Rows;
}

/** A derived figure; of a group also how many members count in the year, and how much they cover. */
export type Recomputed = Figure & { counted: number | null; coverage: number | null };

/** Nothing is derived so. */
export class Underivable extends Error {
  override name = 'Underivable';
}

export const GROUP_PREFIX = '@';

export function recompute(recipe: Recipe, held: Held): Recomputed {
  const rule = held.rule(recipe.indicator);
  const transforms = judged(recipe, rule, held);
  const { place, year } = recipe;
  const isGroup = place.startsWith(GROUP_PREFIX);
  if (isGroup !== (recipe.aggregate === 'declared')) throw new Underivable('aggregate is of groups alone.');
  if (isGroup) return ofGroup(rule, place.slice(GROUP_PREFIX.length), year, transforms, held);
  const figure = figureIn(ofCountry(rule, place, year, transforms, held), year);
  return { ...figure, counted: null, coverage: null };
}

/** What makes sense of a figure of a group: sums are divided first of all. */
export const isOfGroups =
  ({ aggregate }: Pick<SeriesRule, 'aggregate'>) =>
  ({ name }: Transform, at: number): boolean =>
    ['change', 'growth', 'index', 'mean'].includes(name) ||
    (at === 0 && aggregate === 'sum' && (name === 'per_head' || name === 'per'));

/** The series that a transform divides by, if it does. */
const divisorOf = (transform: Transform | undefined, { population }: SeriesRule): string | null =>
  transform?.name === 'per' ? transform.indicator : transform?.name === 'per_head' ? population : null;

function judged({ place, transform }: Recipe, rule: SeriesRule, held: Held): Transform[] {
  const transforms = transform.length === 0 ? [] : parseTransforms(transform.join(','));
  if (!Array.isArray(transforms)) throw new Underivable(`${transforms.input}: ${transforms.problem}.`);
  const isGroup = place.startsWith(GROUP_PREFIX);
  if (isGroup && (rule.aggregate === 'none' || !transforms.every(isOfGroups(rule))))
    throw new Underivable('Figures of groups are not derived so.');
  const divisors = transforms.flatMap((one) => (one.name === 'per' ? [one.indicator] : []));
  const dividedBy = new Map(divisors.map((id): [string, Measured] => [id, held.rule(id)]));
  if ('at' in judgeTransforms(transforms, rule, dividedBy))
    throw new Underivable(`${transform.join(',')} is not defined for ${rule.indicator}.`);
  return transforms;
}

/** The years of a series that a chain of transforms takes for one year, ascending. */
function yearsFor(transforms: readonly Transform[], year: number): number[] {
  let years = new Set([year]);
  for (const transform of transforms.toReversed())
    years = new Set([...years].flatMap((one) => yearsOfOne(transform, one)));
  return [...years].sort((a, b) => a - b);
}

function yearsOfOne(transform: Transform, year: number): number[] {
  switch (transform.name) {
    case 'change':
    case 'growth':
      return [year - transform.years, year];
    case 'index':
      return [transform.year, year];
    case 'mean':
      return Array.from({ length: transform.years }, (_, back) => year - back);
    default:
      return [year];
  }
}

function ofCountry(
  rule: SeriesRule,
  iso3: string,
  year: number,
  transforms: readonly Transform[],
  held: Held,
): History {
  let history = countryHistory(rule, iso3, yearsFor(transforms, year), held);
  for (const [at, transform] of transforms.entries()) {
    const id = divisorOf(transform, rule);
    if (transform.name === 'share') {
      if (!held.members(transform.group).includes(iso3)) throw new Underivable(`${iso3} is no member.`);
      const years = yearsFor(transforms, year);
      const whole = groupHistory(rule, transform.group, years, held, SHARE_COVERAGE).history;
      const before = transforms.slice(0, at);
      history = derive(history, transform, { whole: before.reduce((one, next) => derive(one, next), whole) });
    } else if (id !== null) {
      const by = held.rule(id);
      const divisor = countryHistory(by, iso3, yearsFor(transforms.slice(at), year), held);
      history = derive(history, transform, { divisor, scales: { series: rule.scale, divisor: by.scale } });
    } else history = derive(history, transform);
  }
  return history;
}

/** All years from the first to the last: the series may break in any of them. */
function countryHistory(rule: SeriesRule, iso3: string, years: readonly number[], held: Held): History {
  const [first = 0, last = first] = [years[0], years.at(-1)];
  const rows = rowsBetween(held.rows(rule.indicator), iso3, first, last);
  const figures = rows.map(({ value, status, projected }) => ({ value, reason: null, status, projected }));
  const own = { years: rows.map(({ year }) => year), figures };
  return { ...own, breaks: breaksOf(iso3, own, rule.breaks) };
}

function rowsBetween(rows: Rows, iso3: string, first: number, last: number): SeriesRow[] {
  const found: SeriesRow[] = [];
  let at = rows.before(iso3, first);
  const start = at > 0 ? rows.at(at) : null;
  if (start?.iso3 !== iso3 || start.year !== first) at += 1;
  for (; at <= rows.count; at += 1) {
    const row = rows.at(at);
    if (row.iso3 !== iso3 || row.year > last) break;
    found.push(row);
    if (row.year === last) break;
  }
  return found;
}

/** The row of the last own figure in a year: that of the year, else the newest before it, else the first after it. */
function lastOwnRow(rows: Rows, iso3: string, year: number): SeriesRow | null {
  const start = rows.before(iso3, year);
  const isOwn = (row: SeriesRow | null): row is SeriesRow => row?.iso3 === iso3;
  const rowAt = (index: number): SeriesRow | null =>
    index > 0 && index <= rows.count ? rows.at(index) : null;
  let earlier = rowAt(start);
  for (let at = start; isOwn(earlier) && earlier.value === null; earlier = rowAt(at)) at -= 1;
  if (isOwn(earlier) && earlier.year === year) return earlier;
  let later = rowAt(start + 1);
  if (isOwn(earlier)) return earlier;
  for (let at = start + 1; isOwn(later) && later.value === null; later = rowAt(at)) at += 1;
  return isOwn(later) ? later : null;
}

function ofGroup(
  rule: SeriesRule,
  group: string,
  year: number,
  transforms: readonly Transform[],
  held: Held,
): Recomputed {
  const years = yearsFor(transforms, year);
  const by = divisorOf(transforms[0], rule);
  const { history, figures } = groupHistory(rule, group, years, held, 0, by);
  const scales = { series: rule.scale, divisor: by === null ? 0 : held.rule(by).scale };
  const divisor = divisorHistory(figures);
  const derived = transforms.reduce((one, next) => derive(one, next, { divisor, scales }), history);
  const { counted = 0, coverage = 0 } = figures.find((one) => one.year === year) ?? {};
  return { ...figureIn(derived, year), counted, coverage };
}

/** What the figures of a group are divided by, as the history of a place. */
export const divisorHistory = (figures: readonly Pick<GroupFigure, 'year' | 'divisor'>[]): History => ({
  years: figures.map(({ year }) => year),
  figures: figures.map(({ divisor = null }) => ({ ...NO_FIGURE, value: divisor, reason: null })),
  breaks: [],
});

/** The figures of a group in some years, as those of a place. @param by a series that they are divided by */
function groupHistory(
  rule: SeriesRule,
  group: string,
  years: readonly number[],
  held: Held,
  leastCoverage: number,
  by: string | null = null,
): { history: History; figures: GroupFigure[] } {
  const method = rule.aggregate === 'mean' ? 'mean' : 'sum';
  const weighed = [method === 'mean' ? rule.divisor : null, by].filter((id) => id !== null);
  const territories = held.territories();
  const containments = [rule.indicator, ...weighed].flatMap((id) => containmentsOf(territories, id));
  const figures: GroupFigure[] = [];
  const counted: string[] = [];
  for (const year of years) {
    const members = membersIn(rule, held.members(group), year, held, by);
    const figure = groupFigure(method, members, year, containments);
    if (figure === null) continue;
    figures.push(figure);
    const own = members.filter((member) =>
      by === null ? member.figures?.from === year : counts(method, member, year),
    );
    counted.push(own.map(({ iso3 }) => iso3).join(' '));
  }
  const asPlace = figures.map(({ value, reason, coverage, projected }): Figure => {
    const missing = value === null ? (reason ?? 'coverage') : coverage >= leastCoverage ? null : 'coverage';
    return { value: missing === null ? value : null, reason: missing, status: null, projected };
  });
  const history = { years: figures.map(({ year }) => year), figures: asPlace, breaks: [] };
  return { history: leastCoverage === 0 ? { ...history, counted } : history, figures };
}

/** Of each member its last own figure. Of a sum, the population only counts where a member never had a figure. */
function membersIn(
  rule: SeriesRule,
  codes: readonly string[],
  year: number,
  held: Held,
  by: string | null,
): GroupMember[] {
  const lastOwn = (indicator: string) => {
    const rows = held.rows(indicator);
    return codes.map((iso3) => {
      const row = lastOwnRow(rows, iso3, year);
      return row && valuesOf(row);
    });
  };
  const figures = lastOwn(rule.indicator);
  const isDivided = rule.aggregate === 'mean' || figures.includes(null);
  const divisors = isDivided && rule.divisor !== null ? lastOwn(rule.divisor) : [];
  const inYear = (indicator: string, iso3: string): YearValues | null => {
    const [row] = rowsBetween(held.rows(indicator), iso3, year, year);
    return row === undefined ? null : valuesOf(row);
  };
  return codes.map((iso3, at) => ({
    iso3,
    hidden: null,
    figures: figures[at] ?? null,
    divisors: divisors[at] ?? null,
    ...(by !== null && { by: figures[at]?.from === year ? inYear(by, iso3) : null }),
  }));
}

const valuesOf = (row: SeriesRow): YearValues | null =>
  yearValues([{ ...row, value: row.value ?? Number.NaN }]);

const NO_FIGURE: Figure = { value: null, reason: 'gap', status: null, projected: false };

function figureIn({ years, figures }: History, year: number): Figure {
  return figures[Array.prototype.indexOf.call(years, year)] ?? NO_FIGURE;
}
