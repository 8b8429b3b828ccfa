/**
 * Checks and buffers one series in typed arrays, then sorts it and merges duplicates.
 *
 * Output rows have a known country, a year and finite numbers within the declared bounds, once per country and year,
 * in that order. Empty cells of wide tables outside a country's measured years are dropped and counted. Every other row
 * is counted as rejected. The buffer is reused for the next series.
 */
import type { RejectReason, UpstreamAggregates } from '../../data/schema/lake.ts';
import { describeStatus, isForecastStatus } from '../../data/schema/records.ts';
import type { RawObservation } from '../connectors/connector.ts';
import { PROJECTED, type SeriesColumns, UNSTATED } from '../lake/lake.ts';
import {
  BAD,
  type PlaceIndex,
  type Rejects,
  readFigure,
  readYear,
  type SeriesLimits,
  UntrustedSeriesError,
} from './cells.ts';

/** Reasons that suggest a wrongly configured column when they leave no row, and what each row then lacks. */
const MISCONFIGURED: Partial<Record<Fault, string>> = {
  unknown_place: "names a place that the definition's `places` know",
  bad_year: 'has a year',
};

/** A few values out of bounds are slips. More than this suggest another unit or a wrong total. */
const MAX_OUTSIDE = { rows: 100, share: 0.1 };

/** Digits with signs of some notation, not words such as `No` or `n/a`. */
const LIKE_FIGURE = /^[-+]?\d[\d.,'\s]*$/;

interface RejectedRow {
  reason: RejectReason;
  /** Identifies the case. */
  sample: string;
}

function describeBounds({ min, max }: SeriesLimits): string {
  if (min === -Infinity) return `above the bound ${max}`;
  return max === Infinity ? `below the bound ${min}` : `outside the bounds ${min} to ${max}`;
}

/** Why a row is rejected, or that it has a cell that looks like a figure and cannot be read. */
type Fault = RejectReason | 'like_figure';

/** How many rows have a fault, and the first of them. */
interface Tally {
  rows: number;
  sample: string;
}

interface SeriesFault {
  rows: number;
  reason: string;
}

const FIRST_CAPACITY = 1 << 14;
/** More than the years of one country span. */
const YEARS_APART = 100_000;
/** Far beyond any series of countries and years. */
const ROW_LIMIT = 10_000_000;
const NO_LIMITS: SeriesLimits = {
  min: Number.NEGATIVE_INFINITY,
  max: Number.POSITIVE_INFINITY,
  observedTo: Number.POSITIVE_INFINITY,
};

interface BufferedColumns extends SeriesColumns {
  /** Flags the empty cells of wide tables. */
  blank: Uint8Array;
  /** The place as upstream writes it: an index into the codes of the `PlaceIndex`. */
  place: Int32Array;
}

function makeColumns(capacity: number): BufferedColumns {
  return {
    rows: 0,
    country: new Int32Array(capacity),
    year: new Int32Array(capacity),
    value: new Float64Array(capacity),
    ciLo: new Float64Array(capacity),
    ciHi: new Float64Array(capacity),
    projected: new Uint8Array(capacity),
    status: new Int32Array(capacity),
    blank: new Uint8Array(capacity),
    place: new Int32Array(capacity),
  };
}

const COLUMN_NAMES = [
  ...['country', 'year', 'value', 'ciLo', 'ciHi'],
  ...['projected', 'status', 'blank', 'place'],
] as const satisfies (keyof BufferedColumns)[];
/** Two gaps are equal, and so are 0 and -0. */
const sameNumber = (a = Number.NaN, b = Number.NaN): boolean =>
  a === b || (Number.isNaN(a) && Number.isNaN(b));

export class SeriesBuffer {
  /** Texts by status code; grows over the run. */
  readonly statuses: (string | null)[] = [null];
  /** Empty cells of wide tables that were dropped, over the run. */
  emptyCells = 0;
  /** Status codes by upstream's text. */
  readonly #statusIndex = new Map<string, number>();
  readonly #places: PlaceIndex;
  readonly #rejects: Rejects;
  /** Groups by upstream's code, in upper case. */
  readonly #groups: ReadonlyMap<string, string>;
  #aggregates: UpstreamAggregates[string] = {};
  #columns = makeColumns(FIRST_CAPACITY);
  #limits = NO_LIMITS;
  #sorted = true;
  /** Of this series. */
  readonly #faults = new Map<Fault, Tally>();

  /** @param aggregates groups whose figures are kept beside the rows, by upstream's code */
  constructor(places: PlaceIndex, rejects: Rejects, aggregates: Readonly<Record<string, string>> = {}) {
    this.#places = places;
    this.#rejects = rejects;
    this.#groups = new Map(
      Object.entries(aggregates).map(([code, group]) => [code.toUpperCase(), group] as const),
    );
  }

  /** Starts a series. */
  start(limits: Partial<SeriesLimits> = {}): void {
    this.#columns.rows = 0;
    this.#sorted = true;
    this.#limits = { ...NO_LIMITS, ...limits };
    this.#faults.clear();
    this.#aggregates = {};
  }

  /** Checks and buffers rows of the series. */
  add(rows: readonly RawObservation[]): void {
    this.#reserve(this.#columns.rows + rows.length);
    for (const row of rows) {
      const rejected = this.#addRow(row);
      if (!rejected) continue;
      const { reason, sample } = rejected;
      if (reason === 'aggregate_place') this.#keepAggregate(row);
      this.#rejects.add(reason, sample);
      this.#count(reason, sample);
    }
  }

  #count(fault: Fault, sample: string): void {
    const known = this.#faults.get(fault);
    if (known) known.rows += 1;
    else this.#faults.set(fault, { rows: 1, sample });
  }

  #keepAggregate(row: RawObservation): void {
    const group = this.#groups.get(row.place.trim().toUpperCase());
    const year = readYear(row.year);
    const value = readFigure(row.value);
    if (group === undefined || year === BAD || value === BAD || value === null) return;
    const known = this.#aggregates[group] ?? [];
    known.push([year, value]);
    this.#aggregates[group] = known;
  }

  /** Upstream's own figures of groups in this series. */
  get aggregates(): UpstreamAggregates[string] {
    return this.#aggregates;
  }

  /** Buffers a row, or returns why it is rejected. */
  #addRow(raw: RawObservation): RejectedRow | null {
    const reason = rejectReason(raw);
    if (reason) return { reason, sample: raw.other_dimension ?? raw.place };
    const { code, country } = this.#places.find(raw.place);
    if (typeof country === 'string') return { reason: country, sample: raw.place };
    const year = readYear(raw.year);
    if (year === BAD) return { reason: 'bad_year', sample: String(raw.year) };
    const value = readFigure(raw.value);
    const ciLo = readFigure(raw.ci_lo);
    const ciHi = readFigure(raw.ci_hi);
    if (value === BAD || ciLo === BAD || ciHi === BAD) {
      const text = String([raw.value, raw.ci_lo, raw.ci_hi].find((one) => readFigure(one) === BAD));
      const sample = `${raw.place} ${year}: ${text}`;
      if (LIKE_FIGURE.test(text)) this.#count('like_figure', sample);
      return { reason: 'bad_number', sample };
    }
    if (value !== null && (value < this.#limits.min || value > this.#limits.max))
      return { reason: 'out_of_bounds', sample: `${raw.place} ${year}: ${value}` };
    const columns = this.#columns;
    const at = columns.rows;
    if (at > 0 && this.#sorted) this.#sorted = isAscending(columns, at - 1, country, year);
    columns.country[at] = country;
    columns.year[at] = year;
    columns.value[at] = value ?? Number.NaN;
    columns.ciLo[at] = ciLo ?? Number.NaN;
    columns.ciHi[at] = ciHi ?? Number.NaN;
    columns.status[at] = raw.status ? this.#statusOf(raw.status) : 0;
    columns.projected[at] = this.#projectedOf(raw, year, columns.status[at] ?? 0);
    columns.blank[at] = Number(raw.blank === true);
    columns.place[at] = code;
    columns.rows = at + 1;
    return null;
  }

  #projectedOf({ projected }: RawObservation, year: number, status: number): number {
    if (projected === undefined)
      return isForecastStatus(this.statuses[status] ?? null) ? PROJECTED : UNSTATED;
    return !projected && year > this.#limits.observedTo ? UNSTATED : Number(projected);
  }

  #statusOf(text: string): number {
    const known = this.#statusIndex.get(text);
    if (known !== undefined) return known;
    const words = describeStatus(text);
    const code = this.statuses.includes(words) ? this.statuses.indexOf(words) : this.statuses.push(words) - 1;
    this.#statusIndex.set(text, code);
    return code;
  }

  /**
   * Ends the series. Returns its rows by country and year. Duplicates that are equal, or of which one has no figure, are
   * merged and counted.
   * @throws {UntrustedSeriesError}
   */
  finish(): SeriesColumns {
    const { rows } = this.#columns;
    if (rows === 0) this.#checkReadable();
    const inOrder = Array.from({ length: rows }, (_, row) => row);
    const unique = this.#sorted ? inOrder : this.#mergeDuplicates(inOrder.sort(byKey(this.#columns)));
    const { outOfBounds } = this;
    const limit = Math.max(MAX_OUTSIDE.rows, MAX_OUTSIDE.share * (rows + (outOfBounds?.rows ?? 0)));
    if (outOfBounds && outOfBounds.rows > limit) throw new UntrustedSeriesError(outOfBounds.reason);
    const kept = this.#withoutEmptyCells(unique);
    return this.#sorted && kept.length === rows ? this.#columns : pickRows(this.#columns, kept);
  }

  /** Keeps an empty cell of a wide table only between the first and the last year with a value of its country. */
  #withoutEmptyCells(rows: readonly number[]): number[] {
    const { country, value, blank } = this.#columns;
    const isMeasured = (row: number): boolean => !Number.isNaN(value[row]);
    const kept = [...Map.groupBy(rows, (row) => country[row]).values()].flatMap((ofCountry) => {
      const first = ofCountry.findIndex(isMeasured);
      const last = ofCountry.findLastIndex(isMeasured);
      return ofCountry.filter((row, at) => blank[row] === 0 || (at > first && at < last));
    });
    this.emptyCells += rows.length - kept.length;
    return kept;
  }

  /** A series may be empty when upstream is, but not when most of its rows could not be read. */
  #checkReadable(): void {
    const rejected = [...this.#faults].filter(([fault]) => fault !== 'like_figure');
    const total = rejected.reduce((sum, [, { rows }]) => sum + rows, 0);
    for (const [fault, { rows, sample }] of rejected) {
      const lacking = MISCONFIGURED[fault];
      if (lacking !== undefined && rows * 2 > total) {
        throw new UntrustedSeriesError(
          `no row was accepted: none of ${rows} ${lacking}; the first has "${sample}"`,
        );
      }
    }
  }

  /** The rows of this series that its bounds rejected; null without any. */
  get outOfBounds(): SeriesFault | null {
    const bounds = describeBounds(this.#limits);
    return this.#describe('out_of_bounds', `value is ${bounds}`, `values are ${bounds}`);
  }

  /** The cells of this series that look like figures, but cannot be read; null without any. */
  get unreadable(): SeriesFault | null {
    return this.#describe('like_figure', 'cell is no number', 'cells are no numbers');
  }

  #describe(fault: Fault, one: string, many: string): SeriesFault | null {
    const found = this.#faults.get(fault);
    if (!found) return null;
    const { rows, sample } = found;
    return { rows, reason: `${rows} ${rows === 1 ? one : many}; the first is ${sample}` };
  }

  #reserve(rows: number): void {
    if (rows > ROW_LIMIT) throw new RangeError(`a series of more than ${ROW_LIMIT} rows`);
    if (rows <= this.#columns.country.length) return;
    const larger = makeColumns(2 ** Math.ceil(Math.log2(rows)));
    for (const name of COLUMN_NAMES) larger[name].set(this.#columns[name]);
    larger.rows = this.#columns.rows;
    this.#columns = larger;
  }

  /** @param rows in the order of their keys. @returns one of each key. */
  #mergeDuplicates(rows: readonly number[]): number[] {
    const columns = this.#columns;
    const conflicts: string[] = [];
    const kept: number[] = [];
    for (const row of rows) {
      const before = kept.at(-1);
      if (before === undefined || !sameKey(columns, before, row)) {
        kept.push(row);
        continue;
      }
      const key = `${this.#places.countries[columns.country[row] ?? 0]} ${columns.year[row]}`;
      const merged = mergeRows(columns, before, row);
      if (merged === null)
        conflicts.push(`${key} has two different values: ${this.#showBoth(columns, before, row)}`);
      else {
        this.#rejects.add('duplicate_key', key);
        kept[kept.length - 1] = merged;
      }
    }
    if (conflicts.length > 0) throw new UntrustedSeriesError(this.#conflictError(conflicts));
    return kept;
  }

  #conflictError([first = '', ...others]: readonly string[]): string {
    const more = others.length > 0 ? `; so have ${others.length} more` : '';
    const outside = this.outOfBounds ? `; and ${this.outOfBounds.reason}` : '';
    return `${first}${more}${outside}`;
  }

  /** `61.2 (60 to 62.5) and 59.8 projected`, with the places where upstream writes them in two ways. */
  #showBoth(columns: BufferedColumns, first: number, second: number): string {
    const { codes } = this.#places;
    const [one = '', other = ''] = [first, second].map((row) => codes[columns.place[row] ?? 0]);
    const shown = [first, second].map((row) => showFigures(columns, row));
    return one === other ? shown.join(' and ') : `${shown[0]} of "${one}" and ${shown[1]} of "${other}"`;
  }
}

/** Orders rows by country and year, equal ones as they came. */
function byKey({ country, year }: SeriesColumns): (a: number, b: number) => number {
  const keyOf = (row: number): number => (country[row] ?? 0) * YEARS_APART + (year[row] ?? 0);
  return (a, b) => keyOf(a) - keyOf(b);
}

function pickRows(columns: BufferedColumns, rows: readonly number[]): BufferedColumns {
  const picked = makeColumns(rows.length);
  picked.rows = rows.length;
  for (const name of COLUMN_NAMES) {
    for (const [at, row] of rows.entries()) picked[name][at] = columns[name][row] ?? 0;
  }
  return picked;
}

/** The one that stays of two rows of the same country and year; null when both have figures and these differ. */
function mergeRows(columns: BufferedColumns, first: number, second: number): number | null {
  const { blank } = columns;
  if (sameValues(columns, first, second)) blank[first] = (blank[first] ?? 0) & (blank[second] ?? 0);
  else if (isGap(columns, first)) return second;
  else if (!isGap(columns, second)) return null;
  return first;
}

const isGap = ({ value, ciLo, ciHi }: SeriesColumns, row: number): boolean =>
  [value, ciLo, ciHi].every((column) => Number.isNaN(column[row]));

/** Whether values, bounds and `projected` are equal. */
function sameValues(columns: SeriesColumns, first: number, second: number): boolean {
  const { value, ciLo, ciHi, projected } = columns;
  return [value, ciLo, ciHi, projected].every((column) => sameNumber(column[first], column[second]));
}

/** `61.2 (60 to 62.5) projected` */
function showFigures({ value, ciLo, ciHi, projected }: SeriesColumns, row: number): string {
  const [main, low, high] = [value, ciLo, ciHi].map((column) =>
    Number.isNaN(column[row]) ? 'nothing' : String(column[row]),
  );
  const bounds = low === 'nothing' && high === 'nothing' ? '' : ` (${low} to ${high})`;
  return `${main}${bounds}${projected[row] === PROJECTED ? ' projected' : ''}`;
}

function rejectReason(raw: RawObservation): RejectReason | null {
  if (raw.withdrawn) return 'withdrawn';
  if (raw.other_dimension !== undefined) return 'other_dimension';
  return raw.aggregate ? 'aggregate_place' : null;
}

const sameKey = (columns: SeriesColumns, a: number, b: number): boolean =>
  columns.country[a] === columns.country[b] && columns.year[a] === columns.year[b];

/** Whether a new row sorts strictly after the last one. */
function isAscending(columns: SeriesColumns, last: number, country: number, year: number): boolean {
  const before = columns.country[last] ?? 0;
  return country > before || (country === before && year > (columns.year[last] ?? 0));
}
