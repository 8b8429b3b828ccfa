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
const MISCONFIGURED: Partial<Record<RejectReason, string>> = {
  unknown_place: "names a place that the definition's `places` know",
  bad_year: 'has a year',
};

/** A few values out of bounds are slips. More than this suggest another unit or a wrong total. */
const MAX_OUTSIDE = { rows: 100, share: 0.1 };

/** Digits with signs of some notation, not words such as `No` or `n/a`. */
const LIKE_FIGURE = /^[-+]?\d[\d.,'\s]*$/;

function describeOutside({ min, max }: Pick<SeriesLimits, 'min' | 'max'>): string {
  if (min === -Infinity) return `above the bound ${max}`;
  return max === Infinity ? `below the bound ${min}` : `outside the bounds ${min} to ${max}`;
}

interface RejectedRow {
  reason: RejectReason;
  /** Identifies the case. */
  sample: string;
}

const FIRST_CAPACITY = 1 << 14;
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
  #spare = makeColumns(FIRST_CAPACITY);
  #limits = NO_LIMITS;
  #sorted = true;
  /** Rejected rows of this series. */
  #rejected = 0;
  /** Those with a `MISCONFIGURED` reason: count and first sample. */
  readonly #misread = new Map<RejectReason, { rows: number; sample: string }>();
  /** Rows of this series out of bounds, and the first of them. */
  #outside = 0;
  #firstOutside = '';
  /** Cells of this series that look like figures, but cannot be read, and the first of them. */
  #unreadable = 0;
  #firstUnreadable = '';

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
    this.#outside = 0;
    this.#unreadable = 0;
    this.#misread.clear();
    this.#rejected = 0;
    this.#aggregates = {};
  }

  /** Checks and buffers rows of the series. */
  add(rows: readonly RawObservation[]): void {
    this.#reserve(this.#columns.rows + rows.length);
    for (const row of rows) {
      const rejected = this.#addRow(row);
      if (!rejected) continue;
      if (rejected.reason === 'aggregate_place') this.#keepAggregate(row);
      this.#reject(rejected);
    }
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

  #reject({ reason, sample }: RejectedRow): void {
    this.#rejects.add(reason, sample);
    this.#rejected += 1;
    if (MISCONFIGURED[reason] === undefined) return;
    const known = this.#misread.get(reason);
    if (known) known.rows += 1;
    else this.#misread.set(reason, { rows: 1, sample });
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
      const text = [raw.value, raw.ci_lo, raw.ci_hi].find((one) => readFigure(one) === BAD);
      return this.#refuseNumber(String(text), `${raw.place} ${year}: ${text}`);
    }
    if (value !== null && (value < this.#limits.min || value > this.#limits.max)) {
      const sample = `${raw.place} ${year}: ${value}`;
      if (this.#outside === 0) this.#firstOutside = sample;
      this.#outside += 1;
      return { reason: 'out_of_bounds', sample };
    }
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

  #refuseNumber(text: string, sample: string): RejectedRow {
    if (LIKE_FIGURE.test(text)) {
      if (this.#unreadable === 0) this.#firstUnreadable = sample;
      this.#unreadable += 1;
    }
    return { reason: 'bad_number', sample };
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
    if (this.#columns.rows === 0) this.#checkReadable();
    if (!this.#sorted) this.#sort();
    const total = this.#columns.rows;
    const columns = this.#sorted ? this.#columns : this.#mergeDuplicates();
    const limit = Math.max(MAX_OUTSIDE.rows, MAX_OUTSIDE.share * (total + this.#outside));
    if (this.#outside > limit) throw new UntrustedSeriesError(this.#boundsError());
    this.#dropEmptyCells(columns);
    return columns;
  }

  /** Keeps an empty cell of a wide table only between the first and the last year with a value of its country. */
  #dropEmptyCells(columns: BufferedColumns): void {
    const { rows, country, blank } = columns;
    let kept = 0;
    for (let start = 0, end = 0; start < rows; start = end) {
      while (end < rows && country[end] === country[start]) end += 1;
      const [first, last] = measuredSpan(columns, start, end);
      for (let row = start; row < end; row += 1) {
        if (blank[row] === 1 && (row < first || row > last)) {
          this.emptyCells += 1;
          continue;
        }
        copyRow(columns, row, kept);
        kept += 1;
      }
    }
    columns.rows = kept;
  }

  /** A series may be empty when upstream is, but not when most of its rows could not be read. */
  #checkReadable(): void {
    const [worst] = [...this.#misread].sort(([, a], [, b]) => b.rows - a.rows);
    if (!worst) return;
    const [reason, { rows, sample }] = worst;
    if (rows * 2 <= this.#rejected) return;
    const fault = `no row was accepted: none of ${rows} ${MISCONFIGURED[reason]}; the first has "${sample}"`;
    throw new UntrustedSeriesError(fault);
  }

  /** The rows of this series that its bounds rejected; null without any. */
  get outOfBounds(): { rows: number; reason: string } | null {
    return this.#outside === 0 ? null : { rows: this.#outside, reason: this.#boundsError() };
  }

  /** The cells of this series that look like figures, but cannot be read; null without any. */
  get unreadable(): { rows: number; reason: string } | null {
    if (this.#unreadable === 0) return null;
    const cells = this.#unreadable === 1 ? '1 cell is no number' : `${this.#unreadable} cells are no numbers`;
    return { rows: this.#unreadable, reason: `${cells}; the first is ${this.#firstUnreadable}` };
  }

  #boundsError(): string {
    const values = this.#outside === 1 ? '1 value is' : `${this.#outside} values are`;
    return `${values} ${describeOutside(this.#limits)}; the first is ${this.#firstOutside}`;
  }

  #reserve(rows: number): void {
    if (rows > ROW_LIMIT) throw new RangeError(`a series of more than ${ROW_LIMIT} rows`);
    if (rows <= this.#columns.country.length) return;
    const larger = makeColumns(2 ** Math.ceil(Math.log2(rows)));
    for (const name of COLUMN_NAMES) larger[name].set(this.#columns[name]);
    larger.rows = this.#columns.rows;
    this.#columns = larger;
    this.#spare = makeColumns(larger.country.length);
  }

  #sort(): void {
    const { rows, country, year } = this.#columns;
    const at = (column: Int32Array, index: number): number => column[index] ?? 0;
    const order = Uint32Array.from({ length: rows }, (_, index) => index);
    order.sort((a, b) => at(country, a) - at(country, b) || at(year, a) - at(year, b) || a - b);
    for (const name of COLUMN_NAMES) {
      const from = this.#columns[name];
      const to = this.#spare[name];
      for (let index = 0; index < rows; index += 1) to[index] = from[order[index] ?? 0] ?? 0;
    }
    this.#spare.rows = rows;
    [this.#columns, this.#spare] = [this.#spare, this.#columns];
  }

  #mergeDuplicates(): BufferedColumns {
    const columns = this.#columns;
    const conflicts: string[] = [];
    let kept = 0;
    for (let row = 0; row < columns.rows; row += 1) {
      if (kept > 0 && sameKey(columns, kept - 1, row)) {
        const key = `${this.#places.countries[columns.country[row] ?? 0]} ${columns.year[row]}`;
        if (mergeRows(columns, kept - 1, row)) this.#rejects.add('duplicate_key', key);
        else conflicts.push(`${key} has two different values: ${this.#showBoth(columns, kept - 1, row)}`);
        continue;
      }
      copyRow(columns, row, kept);
      kept += 1;
    }
    columns.rows = kept;
    if (conflicts.length > 0) throw new UntrustedSeriesError(this.#conflictError(conflicts));
    return columns;
  }

  #conflictError([first = '', ...others]: readonly string[]): string {
    const more = others.length > 0 ? `; so have ${others.length} more` : '';
    return `${first}${more}${this.#outside > 0 ? `; and ${this.#boundsError()}` : ''}`;
  }

  /** `61.2 (60 to 62.5) and 59.8 projected`, with the places where upstream writes them in two ways. */
  #showBoth(columns: BufferedColumns, first: number, second: number): string {
    const { codes } = this.#places;
    const [one = '', other = ''] = [first, second].map((row) => codes[columns.place[row] ?? 0]);
    const shown = [first, second].map((row) => showFigures(columns, row));
    return one === other ? shown.join(' and ') : `${shown[0]} of "${one}" and ${shown[1]} of "${other}"`;
  }
}

/** Merges a row into an earlier one of the same country and year, unless both have figures and these differ. */
function mergeRows(columns: BufferedColumns, first: number, second: number): boolean {
  const { blank } = columns;
  if (sameValues(columns, first, second)) blank[first] = (blank[first] ?? 0) & (blank[second] ?? 0);
  else if (isGap(columns, first)) copyRow(columns, second, first);
  else return isGap(columns, second);
  return true;
}

const isGap = ({ value, ciLo, ciHi }: SeriesColumns, row: number): boolean =>
  [value, ciLo, ciHi].every((column) => Number.isNaN(column[row]));

function copyRow(columns: BufferedColumns, from: number, to: number): void {
  if (from !== to) for (const name of COLUMN_NAMES) columns[name].copyWithin(to, from, from + 1);
}

/** The first and the last of these rows with a value; an empty span when there is none. */
function measuredSpan({ value }: SeriesColumns, start: number, end: number): [number, number] {
  let first = start;
  while (first < end && Number.isNaN(value[first])) first += 1;
  let last = end - 1;
  while (last > first && Number.isNaN(value[last])) last -= 1;
  return [first, last];
}

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
