/**
 * The arithmetic of derived figures. It is part of the contract: IEEE 754 doubles, only +, −, × and ÷ but for the mean
 * growth over several years, sums in the order of year or of ISO3, each expression evaluated as it stands here. So every
 * client gets the same bits, and the mean growth within 1e−12.
 *
 * Where a figure cannot be derived honestly there is none, and a reason. A missing input passes its own reason on.
 */
import type { Transform } from './transforms.ts';

/** Why there is no derived figure. */
export const REASONS = [
  /** The year or the series to compare with has no figure. */
  'no_base',
  /** The year itself, or a year of a mean, has no figure. */
  'gap',
  /** The series breaks between the years that are compared. */
  'break',
  /** A divisor is 0. */
  'zero',
  /** A figure that has to be positive is not. */
  'not_positive',
  /** The members of the group with a figure are too small a part of it, or others than in the base year. */
  'coverage',
  /** Nobody has decided whether one member's figure includes another's. */
  'territory',
  /** A member of the group has a figure that may not be published. */
  'withheld',
  /** The result is beyond what a double holds. */
  'overflow',
] as const;
export type Reason = (typeof REASONS)[number];

/**
 * Statuses from the strongest to the weakest; null, a normal figure, is stronger than all, and one that is not listed is
 * weaker. A derived figure has the status of its weakest input; among equally weak ones, of the first by year, then series.
 */
export const STATUS_ORDER: readonly string[] = [
  'reported',
  'revised',
  'break',
  'definition differs',
  'included elsewhere',
  'includes another category',
  'adjusted',
  'special event',
  'provisional',
  'unvalidated',
  'estimated',
  'imputed',
  'modelled',
  'reanalysed',
  'external reanalysis',
  'partial',
  'less than',
  'derogation',
  'experimental',
  'low reliability',
  'not significant',
  'excluded',
  'suppressed',
  'not collected',
  'not applicable',
  'missing',
  'projection',
  'forecast',
  'predicted',
];

const WEAKNESS: ReadonlyMap<string, number> = new Map(STATUS_ORDER.map((word, at) => [word, at]));

/** Of several words, the weakest counts. */
function weakness(status: string | null): number {
  if (status === null) return -1;
  return Math.max(...status.split(', ').map((word) => WEAKNESS.get(word) ?? STATUS_ORDER.length));
}

/** One figure, of a provider or derived. */
export interface Figure {
  value: number | null;
  /** Why a derived one is missing. */
  reason: Reason | null;
  status: string | null;
  projected: boolean;
}

/** What a series has of one country. */
export interface History {
  /** Ascending, each once. */
  years: ArrayLike<number>;
  /** By year. */
  figures: readonly Figure[];
  /** Years from which on figures are of another level than those before. */
  breaks: readonly number[];
  /** Of a group: by year, which members count. Figures of other members are not compared. */
  counted?: readonly string[];
}

const NOTHING: History = { years: [], figures: [], breaks: [] };

/** What a transform divides by. */
export interface Denominators {
  /** Another series, in the same country. */
  divisor?: History | undefined;
  /** Powers of ten of the figures of the series and of the population: 3 for thousands. */
  scales?: { series: number; divisor: number };
  /** The sum of a group, as a place: under the transforms before. */
  whole?: History | undefined;
}

/** The history of one country under a transform: the same years. */
export function derive(history: History, transform: Transform, by: Denominators = {}): History {
  switch (transform.name) {
    case 'change':
      return compared(history, (year) => year - transform.years, CHANGE);
    case 'growth':
      return compared(history, (year) => year - transform.years, growthOver(transform.years));
    case 'index':
      return compared(history, () => transform.year, INDEX);
    case 'mean':
      return mapped(history, (at) => meanTo(history, at, transform.years));
    case 'per_head':
      return divided(history, by.divisor, scaledRatio(by.scales));
    case 'per':
      return divided(history, by.divisor, (value, divisor) => value / divisor);
    case 'share':
      return divided(history, by.whole, (value, whole) => 100 * (value / whole));
  }
}

interface Comparison {
  result(now: number, base: number): number;
  /** Which of the two have to be positive. */
  isPositive: 'neither' | 'base' | 'both';
}

const CHANGE: Comparison = { result: (now, base) => now - base, isPositive: 'neither' };
const INDEX: Comparison = { result: (now, base) => 100 * (now / base), isPositive: 'base' };

const growthOver = (years: number): Comparison => ({
  result: (now, base) =>
    years === 1 ? 100 * ((now - base) / base) : 100 * ((now / base) ** (1 / years) - 1),
  isPositive: 'both',
});

const MISSING: Figure = { value: null, reason: null, status: null, projected: false };
const figureAt = (history: History, at: number): Figure => history.figures[at] ?? MISSING;
const figureIn = (history: History, year: number): Figure =>
  history.figures[positionOf(history.years, year)] ?? MISSING;
const yearAt = (history: History, at: number): number => history.years[at] ?? 0;

function mapped(history: History, figure: (at: number) => Figure, breaks = history.breaks): History {
  const figures = Array.from({ length: history.years.length }, (_, at) => figure(at));
  return { ...history, figures, breaks };
}

/** Each year with a base year of the same country. */
const compared = (history: History, baseOf: (year: number) => number, comparison: Comparison): History =>
  mapped(history, (at) => {
    const year = yearAt(history, at);
    const baseYear = baseOf(year);
    const now = figureAt(history, at);
    const base = figureIn(history, baseYear);
    const inputs = baseYear < year ? [base, now] : [now, base];
    if (now.value === null) return without(now.reason ?? 'gap', inputs);
    if (base.value === null) return without(base.reason ?? 'no_base', inputs);
    if (breaksBetween(history, baseYear, year)) return without('break', inputs);
    const { counted } = history;
    if (counted?.[at] !== counted?.[positionOf(history.years, baseYear)]) return without('coverage', inputs);
    const unfit = notPositive(now.value, base.value, comparison);
    return unfit === null ? made(comparison.result(now.value, base.value), inputs) : without(unfit, inputs);
  });

function notPositive(now: number, base: number, { isPositive }: Comparison): Reason | null {
  if (isPositive === 'neither') return null;
  if (base === 0) return 'zero';
  return base < 0 || (isPositive === 'both' && now <= 0) ? 'not_positive' : null;
}

/** The mean of some years up to one, all of which have a figure. */
function meanTo(history: History, at: number, years: number): Figure {
  const last = yearAt(history, at);
  const first = last - years + 1;
  const inputs: Figure[] = [];
  for (let year = first; year <= last; year += 1) inputs.push(figureIn(history, year));
  const missing = inputs.find(({ value }) => value === null);
  if (missing !== undefined) return without(missing.reason ?? 'gap', inputs);
  if (breaksBetween(history, first, last)) return without('break', inputs);
  let sum = 0;
  for (const { value } of inputs) sum += value ?? 0;
  return made(sum / years, inputs);
}

function divided(
  history: History,
  divisor: History = NOTHING,
  result: (value: number, divisor: number) => number,
): History {
  const quotient = (at: number): Figure => {
    const [figure, by] = [figureAt(history, at), figureIn(divisor, yearAt(history, at))];
    const inputs = [figure, by];
    if (figure.value === null) return without(figure.reason ?? 'gap', inputs);
    if (by.value === null) return without(by.reason ?? 'no_base', inputs);
    if (by.value === 0) return without('zero', inputs);
    if (by.value < 0) return without('not_positive', inputs);
    return made(result(figure.value, by.value), inputs);
  };
  return mapped(history, quotient, [...history.breaks, ...divisor.breaks]);
}

/** A quotient of figures in powers of ten, in units. */
const scaledRatio =
  ({ series, divisor }: { series: number; divisor: number } = { series: 0, divisor: 0 }) =>
  (value: number, by: number): number => {
    // The double nearest to the power of ten, which ** need not give.
    const power = Number(`1e${Math.abs(series - divisor)}`);
    return series < divisor ? value / by / power : (value / by) * power;
  };

const without = (reason: Reason, inputs: readonly Figure[]): Figure => ({
  value: null,
  reason,
  ...marked(inputs),
});

const made = (value: number, inputs: readonly Figure[]): Figure =>
  Number.isFinite(value) ? { value, reason: null, ...marked(inputs) } : without('overflow', inputs);

/** The status of the weakest, and whether one is projected. */
function marked(inputs: readonly Figure[]): Pick<Figure, 'status' | 'projected'> {
  let status: string | null = null;
  let projected = false;
  for (const input of inputs) {
    if (input.status !== status && weakness(input.status) > weakness(status)) status = input.status;
    projected ||= input.projected;
  }
  return { status, projected };
}

/** Whether the level may change after the earlier of two years and until the later one. */
function breaksBetween({ breaks }: History, a: number, b: number): boolean {
  const [from, to] = a < b ? [a, b] : [b, a];
  return breaks.some((year) => from < year && year <= to);
}

/** Where a year stands, or -1. */
function positionOf(years: ArrayLike<number>, year: number): number {
  let low = 0;
  let high = years.length - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const found = years[middle] ?? 0;
    if (found === year) return middle;
    if (found < year) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

/** A break that was found in the figures: of one country, or of all. */
export type FoundBreak = {
  kind: 'level_break' | 'unit_change' | 'decimal_slip';
  iso3: string | null;
  year: number;
};

/** Where the series of a country breaks. A slip is left again in the year after it. */
export function breaksOf(
  iso3: string,
  { years, figures }: Pick<History, 'years' | 'figures'>,
  found: readonly FoundBreak[],
): number[] {
  const own = found.filter((one) => one.iso3 === null || one.iso3 === iso3);
  const told = figures.flatMap(({ status }, at) =>
    status?.split(', ').includes('break') ? [years[at] ?? 0] : [],
  );
  return [...own.flatMap(({ kind, year }) => (kind === 'decimal_slip' ? [year, year + 1] : [year])), ...told];
}

/** The least coverage of a group of which a sum is a share's whole. */
export const SHARE_COVERAGE = 0.95;
