/**
 * Figures of a group of countries from those of its members, in plain IEEE arithmetic on doubles, in the order of ISO3 and
 * year: whoever repeats it gets the same bits. Nothing is estimated or filled up.
 *
 * - A sum adds the figures of the year. Its coverage is the share of the members' last own figures (absolute values) that
 *   is there in the year, times the share of the population that lives in members which have a figure in any year. A sum
 *   that is divided is over the members that have both figures of the year.
 * - A mean weighs each figure by the divisor of the year. Its coverage is the share of all members' last own divisors.
 * - A last own figure is that of the year, else the newest before it, else the first after it.
 * - Coverage is rounded to six digits. Below two thirds there is no figure.
 */
export type AggregateMethod = 'sum' | 'mean';

/** A series of one country, a value for each year from `from` on. */
export interface YearValues {
  from: number;
  /** NaN where there is none; the first and the last one are there. */
  values: Float64Array;
  /** The last own value of each year. */
  last: Float64Array;
  /** 1 where the value is projected. */
  projected: Uint8Array;
}

/** A country as a member of groups. */
export interface GroupMember {
  iso3: string;
  /** Null without a figure in any year. */
  figures: YearValues | null;
  /** Of a mean the weights, of a sum the population. */
  divisors: YearValues | null;
  /** Of the series that a sum is divided by; undefined where it is not divided. */
  by?: YearValues | null;
  /** Years with a figure that must not be published. */
  hidden: ReadonlySet<number> | null;
}

/** Two places of which the figure of one may include the other, as it is decided: of a series, of a provider, or of all (`*`). */
export type DecidedContainment = {
  provider: string;
  parent: string;
  child: string;
  /** First and last year; null without an end. */
  from: number | null;
  to: number | null;
  /** Null where nobody has decided. */
  contained: boolean | null;
};

/** What holds for one series. */
export type Containment = Omit<DecidedContainment, 'provider'> & { from: number; to: number };

/** A series' own rows decide, else those of its provider, else those of all. */
export function containmentsOf(decided: readonly DecidedContainment[], indicator: string): Containment[] {
  const [provider = ''] = indicator.split('.', 1);
  const ranked = [indicator, provider, '*'].flatMap((of) => decided.filter((one) => one.provider === of));
  const deciding = new Map(ranked.toReversed().map((one) => [`${one.parent} ${one.child}`, one.provider]));
  return ranked
    .filter((one) => deciding.get(`${one.parent} ${one.child}`) === one.provider)
    .map(({ parent, child, contained, from, to }) => ({
      parent,
      child,
      contained,
      from: from ?? Number.NEGATIVE_INFINITY,
      to: to ?? Number.POSITIVE_INFINITY,
    }));
}

/** Why there is no figure. */
export type GroupReason = 'coverage' | 'territory' | 'withheld';

export interface GroupFigure {
  year: number;
  value: number | null;
  /** Members, without those that count within another one. */
  members: number;
  /** Those of them whose figure counts. */
  counted: number;
  coverage: number;
  /** Of a sum that is divided, the sum of what it is divided by. */
  divisor?: number;
  /** Whether a figure or divisor that counts is projected. */
  projected: boolean;
  reason: GroupReason | null;
}

/** @param rows by year, each year once, without rows that have no value */
export function yearValues(
  rows: readonly { year: number; value: number; projected: boolean }[],
): YearValues | null {
  const [first, newest] = [rows[0], rows.at(-1)];
  if (first === undefined || newest === undefined) return null;
  const size = newest.year - first.year + 1;
  const values = new Float64Array(size).fill(Number.NaN);
  const projected = new Uint8Array(size);
  for (const row of rows) {
    values[row.year - first.year] = row.value;
    projected[row.year - first.year] = row.projected ? 1 : 0;
  }
  const last = values.slice();
  for (let at = 1; at < size; at += 1) if (Number.isNaN(last[at])) last[at] = last[at - 1] ?? Number.NaN;
  return { from: first.year, values, last, projected };
}

/** NaN where there is none. */
const ownValue = (series: YearValues | null, year: number): number =>
  series?.values[year - series.from] ?? Number.NaN;

/** NaN for a country without any. */
function lastOwnValue(series: YearValues | null, year: number): number {
  if (series === null) return Number.NaN;
  const at = Math.min(Math.max(year - series.from, 0), series.last.length - 1);
  return series.last[at] ?? Number.NaN;
}

const isProjected = (series: YearValues | null, year: number): boolean =>
  series?.projected[year - series.from] === 1;

type Combined = Pick<GroupFigure, 'value' | 'counted' | 'coverage' | 'divisor' | 'projected'>;

function sumOf(members: readonly GroupMember[], year: number): Combined {
  let [sum, counted, present, expected, settled, everybody] = [0, 0, 0, 0, 0, 0];
  let [known, whole, projected] = [0, 0, false];
  for (const member of members) {
    const { figures, divisors, by } = member;
    const people = lastOwnValue(divisors, year);
    if (people > 0) everybody += people;
    if (figures === null) continue;
    known += 1;
    if (people > 0) settled += people;
    const value = ownValue(figures, year);
    expected += Math.abs(lastOwnValue(figures, year));
    if (!counts('sum', member, year)) continue;
    sum += value;
    present += Math.abs(value);
    counted += 1;
    if (by) whole += ownValue(by, year);
    projected ||= isProjected(figures, year) || isProjected(by ?? null, year);
  }
  const share = expected > 0 ? present / expected : counted / known;
  const coverage = everybody > 0 ? share * (settled / everybody) : share;
  const isDivided = members.some(({ by }) => by !== undefined);
  return { value: sum, counted, coverage, projected, ...(isDivided && { divisor: whole }) };
}

function meanOf(members: readonly GroupMember[], year: number): Combined {
  let [weighed, weights, counted, expected] = [0, 0, 0, 0];
  let projected = false;
  for (const { figures, divisors } of members) {
    const last = lastOwnValue(divisors, year);
    if (last > 0) expected += last;
    const [value, weight] = [ownValue(figures, year), ownValue(divisors, year)];
    if (Number.isNaN(value) || !(weight > 0)) continue;
    weighed += weight * value;
    weights += weight;
    counted += 1;
    projected ||= isProjected(figures, year) || isProjected(divisors, year);
  }
  return { value: weighed / weights, counted, coverage: expected > 0 ? weights / expected : 0, projected };
}

const COVERAGE_DIGITS = 1e6;
const rounded = (share: number): number => Math.round(share * COVERAGE_DIGITS) / COVERAGE_DIGITS;
/** In thirds. */
const LEAST_COVERAGE = 2;

/** Whether a member has all that a figure of the year takes. */
export function counts(
  method: AggregateMethod,
  { figures, divisors, by }: GroupMember,
  year: number,
): boolean {
  if (Number.isNaN(ownValue(figures, year))) return false;
  if (by !== undefined && Number.isNaN(ownValue(by, year))) return false;
  return method === 'sum' || ownValue(divisors, year) > 0;
}

/** The members that count by themselves in a year, and whether two of them may hold the same figures. */
function countedOnce(
  method: AggregateMethod,
  members: readonly GroupMember[],
  year: number,
  containments: readonly Containment[],
): { once: readonly GroupMember[]; isUndecided: boolean } {
  if (containments.length === 0) return { once: members, isUndecided: false };
  const counted = new Set(members.filter((member) => counts(method, member, year)).map(({ iso3 }) => iso3));
  const inYear = containments.filter(
    ({ parent, from, to }) => from <= year && year <= to && counted.has(parent),
  );
  const within = new Set(inYear.filter(({ contained }) => contained).map(({ child }) => child));
  return {
    once: within.size === 0 ? members : members.filter(({ iso3 }) => !within.has(iso3)),
    isUndecided: inYear.some(({ contained, child }) => contained === null && counted.has(child)),
  };
}

/** The figure of one year; null where no member has one. @param members in the order of ISO3 */
export function groupFigure(
  method: AggregateMethod,
  members: readonly GroupMember[],
  year: number,
  containments: readonly Containment[],
): GroupFigure | null {
  const { once, isUndecided } = countedOnce(method, members, year, containments);
  const combined = (method === 'sum' ? sumOf : meanOf)(once, year);
  const { value, counted, coverage: share, projected, divisor } = combined;
  const isHidden = members.some(({ hidden }) => hidden?.has(year));
  if (counted === 0 && !isHidden) return null;
  const coverage = rounded(share);
  const isCovered = coverage * 3 >= LEAST_COVERAGE;
  const reason = isHidden ? 'withheld' : isUndecided ? 'territory' : isCovered ? null : 'coverage';
  const isNumber = Number.isFinite(value);
  return {
    year,
    members: once.length,
    counted,
    coverage: isHidden ? 0 : coverage,
    projected,
    ...(divisor !== undefined && { divisor }),
    value: reason === null && isNumber ? value : null,
    reason: isHidden || isNumber ? reason : 'coverage',
  };
}

/** The figures of all years in which a member has one, by year. @param members in the order of ISO3 */
export function groupFigures(
  method: AggregateMethod,
  members: readonly GroupMember[],
  containments: readonly Containment[],
): GroupFigure[] {
  const known = new Set(members.map(({ iso3 }) => iso3));
  const own = containments.filter(({ parent, child }) => known.has(parent) && known.has(child));
  return ofAllYears(members, (year) => groupFigure(method, members, year, own));
}

function ofAllYears(
  members: readonly GroupMember[],
  figureOf: (year: number) => GroupFigure | null,
): GroupFigure[] {
  const spans = members.flatMap(({ figures }) => figures ?? []);
  const from = Math.min(...spans.map((figures) => figures.from));
  const to = Math.max(...spans.map((figures) => figures.from + figures.values.length - 1));
  const found: GroupFigure[] = [];
  for (let year = from; year <= to; year += 1) {
    const figure = figureOf(year);
    if (figure !== null) found.push(figure);
  }
  return found;
}

export type OrderMethod = 'median' | 'min' | 'max';

/**
 * Median, least or greatest figure of the members that have one, by year. Coverage is their number by that of all; below
 * two thirds there is no figure.
 */
export const orderFigures = (method: OrderMethod, members: readonly GroupMember[]): GroupFigure[] =>
  ofAllYears(members, (year) => {
    const own = members.filter(({ figures }) => !Number.isNaN(ownValue(figures, year)));
    const counted = own.length;
    if (counted === 0) return null;
    const ordered = own.map(({ figures }) => ownValue(figures, year)).sort((a, b) => a - b);
    const isCovered = counted * 3 >= members.length * LEAST_COVERAGE;
    return {
      year,
      counted,
      members: members.length,
      coverage: rounded(counted / members.length),
      value: isCovered ? picked(method, ordered) : null,
      projected: own.some(({ figures }) => isProjected(figures, year)),
      reason: isCovered ? null : 'coverage',
    };
  });

/** @param ordered ascending; of an even number, the median is half of the sum of the two in the middle. */
function picked(method: OrderMethod, ordered: readonly number[]): number {
  const last = ordered.length - 1;
  const at = (index: number): number => ordered[index] ?? 0;
  if (method === 'median')
    return last % 2 === 0 ? at(last / 2) : (at((last - 1) / 2) + at((last + 1) / 2)) / 2;
  return method === 'min' ? at(0) : at(last);
}
