/**
 * Derived figures, computed once more and naively: each from the words of a transform, by asking for the figures before it,
 * year by year. Shares no code with the product.
 */
export interface PlainRow {
  iso3: string;
  year: number;
  value: number | null;
  status: string | null;
  projected: boolean;
  /** Why a group has no figure. */
  reason?: string | null;
}

export interface FoundBreak {
  kind: 'level_break' | 'unit_change' | 'decimal_slip';
  iso3: string | null;
  year: number;
}

/** What the figures are derived from. */
export interface Given {
  rows: readonly PlainRow[];
  found: readonly FoundBreak[];
  /** Powers of ten. */
  scale: number;
  /** What `per` and `per_head` divide by. */
  divisor: Pick<Given, 'rows' | 'found' | 'scale'> | null;
  /** What `share` divides by: figures of a group, under the code `@`. */
  whole: readonly PlainRow[];
  /** Of a group as a place: who counts in a year. */
  counted?: (year: number) => string;
}

export interface DerivedCell {
  value: number | null;
  reason: string | null;
  status: string | null;
  projected: boolean;
}

/** From strong to weak, as docs/derived.md lists them. */
export const STATUSES =
  'reported|revised|break|definition differs|included elsewhere|includes another category|adjusted|special event|provisional|unvalidated|estimated|imputed|modelled|reanalysed|external reanalysis|partial|less than|derogation|experimental|low reliability|not significant|excluded|suppressed|not collected|not applicable|missing|projection|forecast|predicted'.split(
    '|',
  );

const weakness = (status: string | null): number =>
  status === null
    ? 0
    : Math.max(
        ...status
          .split(', ')
          .map((word) => (STATUSES.includes(word) ? STATUSES.indexOf(word) + 1 : STATUSES.length + 1)),
      );

const rowIn = ({ rows }: Pick<Given, 'rows'>, iso3: string, year: number): PlainRow | undefined =>
  rows.find((row) => row.iso3 === iso3 && row.year === year);

/** Whether figures of a year are of another level than those of the year before. */
function changesLevel({ rows, found }: Pick<Given, 'rows' | 'found'>, iso3: string, year: number): boolean {
  if (rowIn({ rows }, iso3, year)?.status?.split(', ').includes('break')) return true;
  return found.some((one) => {
    if (one.iso3 !== null && one.iso3 !== iso3) return false;
    return one.year === year || (one.kind === 'decimal_slip' && one.year === year - 1);
  });
}

const isDivision = (word: string): boolean => word.startsWith('per');

type Cell = DerivedCell | undefined;

/** One transform in one country and year. */
interface Asked {
  given: Given;
  /** The words before it. */
  before: readonly string[];
  iso3: string;
  year: number;
  /** The figure before it, of any year and country. */
  at(year: number, iso3?: string): Cell;
}

/** Undefined where the series has no row. */
export function derivedCell(given: Given, words: readonly string[], iso3: string, year: number): Cell {
  const own = rowIn(given, iso3, year);
  if (own === undefined) return undefined;
  const [before, word] = [words.slice(0, -1), words.at(-1)];
  if (word === undefined) return { ...own, reason: own.reason ?? null };
  const [name = '', argument = '1'] = word.split(':');
  const asked: Asked = {
    given,
    before,
    iso3,
    year,
    at: (other, country = iso3) => derivedCell(given, before, country, other),
  };
  if (name === 'mean') return mean(asked, Number(argument));
  if (name === 'share') return share(asked);
  if (isDivision(name)) return quotient(asked, name === 'per_head');
  return compared(asked, name, Number(argument));
}

function breaksAfter({ given, before, iso3 }: Asked, first: number, last: number): boolean {
  const sources = before.some(isDivision) && given.divisor !== null ? [given, given.divisor] : [given];
  for (let year = first + 1; year <= last; year += 1)
    if (sources.some((source) => changesLevel(source, iso3, year))) return true;
  return false;
}

function mean(asked: Asked, years: number): DerivedCell {
  const first = asked.year - years + 1;
  const cells = Array.from({ length: years }, (_, later) => asked.at(first + later));
  const gap = cells.findIndex((cell) => cell?.value == null);
  if (gap >= 0) return judged(null, cells[gap]?.reason ?? 'gap', cells);
  if (breaksAfter(asked, first, asked.year)) return judged(null, 'break', cells);
  return judged(sum(cells.map((cell) => cell?.value ?? 0)) / years, null, cells);
}

function quotient({ given: { divisor, scale }, iso3, year, at }: Asked, isScaled: boolean): DerivedCell {
  const row = divisor === null ? undefined : rowIn(divisor, iso3, year);
  const power = isScaled ? scale - (divisor?.scale ?? 0) : 0;
  return ratio(at(year), row && { ...row, reason: null }, (a, b) =>
    power < 0 ? a / b / tenTo(-power) : (a / b) * tenTo(power),
  );
}

function share({ given, before, year, at }: Asked): DerivedCell {
  const group: Given = { rows: given.whole, found: [], scale: 0, divisor: null, whole: [] };
  return ratio(at(year), derivedCell(group, before, '@', year), (a, b) => 100 * (a / b));
}

function compared(asked: Asked, name: string, argument: number): DerivedCell {
  const { year, at } = asked;
  const baseYear = name === 'index' ? argument : year - argument;
  const [now, base] = [at(year), at(baseYear)];
  const cells = baseYear < year ? [base, now] : [now, base];
  if (now?.value == null) return judged(null, now?.reason ?? 'gap', cells);
  if (base?.value == null) return judged(null, base?.reason ?? 'no_base', cells);
  if (breaksAfter(asked, Math.min(year, baseYear), Math.max(year, baseYear)))
    return judged(null, 'break', cells);
  const { counted } = asked.given;
  if (counted?.(year) !== counted?.(baseYear)) return judged(null, 'coverage', cells);
  if (name === 'change') return judged(now.value - base.value, null, cells);
  if (base.value === 0) return judged(null, 'zero', cells);
  if (base.value < 0 || (name === 'growth' && now.value <= 0)) return judged(null, 'not_positive', cells);
  if (name === 'index') return judged((now.value / base.value) * 100, null, cells);
  if (argument === 1) return judged(((now.value - base.value) / base.value) * 100, null, cells);
  return judged((Math.exp(Math.log(now.value / base.value) / argument) - 1) * 100, null, cells);
}

const tenTo = (power: number): number => Number(`1${'0'.repeat(power)}`);
const sum = (values: readonly number[]): number => values.reduce((whole, value) => whole + value, 0);

function ratio(now: Cell, by: Cell, result: (a: number, b: number) => number): DerivedCell {
  const cells = [now, by];
  if (now?.value == null) return judged(null, now?.reason ?? 'gap', cells);
  if (by?.value == null) return judged(null, by?.reason ?? 'no_base', cells);
  if (by.value === 0) return judged(null, 'zero', cells);
  if (by.value < 0) return judged(null, 'not_positive', cells);
  return judged(result(now.value, by.value), null, cells);
}

/** With the marks of what it was made of. */
function judged(value: number | null, reason: string | null, from: readonly Cell[]): DerivedCell {
  const cells = from.filter((cell) => cell !== undefined);
  const weakest = cells.toSorted((a, b) => weakness(b.status) - weakness(a.status))[0]?.status ?? null;
  const projected = cells.some((cell) => cell.projected);
  const isHeld = value === null || Number.isFinite(value);
  return {
    value: isHeld ? value : null,
    reason: isHeld ? reason : 'overflow',
    status: weakest,
    projected,
  };
}

/** What a chain costs, times the price without it: a quotient tells two figures, one of quotients those of both. */
export const factorOf = (words: readonly string[]): number => {
  const first = words.findIndex((word) => !/^(change|mean)/.test(word));
  return first < 0 ? 1 : 2 ** (words.length - first);
};

/** Whether two values are the same: to the bit, but for the mean growth over several years. */
export function isSame(word: string, a: number | null, b: number | null): boolean {
  if (a === null || b === null || !/growth:(?!1\b)/.test(word))
    return Object.is(a, b) || (a === 0 && b === 0);
  return Math.abs(a - b) <= 1e-12 * Math.max(Math.abs(a), Math.abs(b), 100);
}
