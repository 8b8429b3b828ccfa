/**
 * Checks and buffers the rows of one series, then sorts them and merges duplicates.
 *
 * Output rows have a known country, a year and finite numbers within the declared bounds, once per country and year,
 * in that order. Empty cells of wide tables outside a country's measured years are dropped and counted. Every other row
 * is counted as rejected. The buffer is reused for the next series.
 */
import type { RejectReason, UpstreamAggregates } from '../../data/schema/lake.ts';
import { describeStatus, isForecastStatus } from '../../data/schema/records.ts';
import type { RawObservation } from '../connectors/connector.ts';
import type { LakeRow } from '../lake/lake.ts';
import {
  BAD,
  type placeFinder,
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
  if (min === undefined) return `above the bound ${max}`;
  return max === undefined ? `below the bound ${min}` : `outside the bounds ${min} to ${max}`;
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

/** Far beyond any series of countries and years. */
const ROW_LIMIT = 10_000_000;

interface Row extends LakeRow {
  /** Whether it is an empty cell of a wide table. */
  blank: boolean;
  /** As upstream writes it. */
  place: string;
}

export class SeriesBuffer {
  /** Empty cells of wide tables that were dropped, over the run. */
  emptyCells = 0;
  /** Statuses in our words by upstream's text. */
  readonly #statuses = new Map<string, string | null>();
  readonly #findPlace: ReturnType<typeof placeFinder>;
  readonly #rejects: Rejects;
  /** Groups by upstream's code, in upper case. */
  readonly #groups: ReadonlyMap<string, string>;
  #aggregates: UpstreamAggregates[string] = {};
  #rows: Row[] = [];
  #limits: SeriesLimits = {};
  /** Of this series. */
  readonly #faults = new Map<Fault, Tally>();

  /** @param aggregates groups whose figures are kept beside the rows, by upstream's code */
  constructor(
    findPlace: ReturnType<typeof placeFinder>,
    rejects: Rejects,
    aggregates: Readonly<Record<string, string>> = {},
  ) {
    this.#findPlace = findPlace;
    this.#rejects = rejects;
    this.#groups = new Map(
      Object.entries(aggregates).map(([code, group]) => [code.toUpperCase(), group] as const),
    );
  }

  /** Starts a series. */
  start(limits: SeriesLimits): void {
    this.#rows = [];
    this.#limits = limits;
    this.#faults.clear();
    this.#aggregates = {};
  }

  /** Checks and buffers rows of the series. */
  add(rows: readonly RawObservation[]): void {
    if (this.#rows.length + rows.length > ROW_LIMIT)
      throw new RangeError(`a series of more than ${ROW_LIMIT} rows`);
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
    const { place } = raw;
    const reason = rejectReason(raw);
    if (reason) return { reason, sample: raw.other_dimension ?? place };
    const found = this.#findPlace(place);
    if (found.kind !== 'country') return { reason: `${found.kind}_place`, sample: place };
    const { iso3 } = found;
    const year = readYear(raw.year);
    if (year === BAD) return { reason: 'bad_year', sample: String(raw.year) };
    const value = readFigure(raw.value);
    const ci_lo = readFigure(raw.ci_lo);
    const ci_hi = readFigure(raw.ci_hi);
    if (value === BAD || ci_lo === BAD || ci_hi === BAD) {
      const text = String([raw.value, raw.ci_lo, raw.ci_hi].find((one) => readFigure(one) === BAD));
      const sample = `${place} ${year}: ${text}`;
      if (LIKE_FIGURE.test(text)) this.#count('like_figure', sample);
      return { reason: 'bad_number', sample };
    }
    const { min = -Infinity, max = Infinity } = this.#limits;
    if (value !== null && (value < min || value > max))
      return { reason: 'out_of_bounds', sample: `${place} ${year}: ${value}` };
    const status = raw.status ? this.#statusOf(raw.status) : null;
    const projected = this.#projectedOf(raw, year, status);
    const blank = raw.blank === true;
    this.#rows.push({ iso3, year, value, ci_lo, ci_hi, projected, status, place, blank });
    return null;
  }

  #projectedOf({ projected }: RawObservation, year: number, status: string | null): boolean | null {
    if (projected === undefined) return isForecastStatus(status) || null;
    return !projected && year > (this.#limits.observedTo ?? Infinity) ? null : projected;
  }

  #statusOf(text: string): string | null {
    const known = this.#statuses.get(text);
    if (known !== undefined) return known;
    const words = describeStatus(text);
    this.#statuses.set(text, words);
    return words;
  }

  /**
   * Ends the series. Returns its rows by country and year. Duplicates that are equal, or of which one has no figure, are
   * merged and counted.
   * @throws {UntrustedSeriesError}
   */
  finish(): readonly LakeRow[] {
    if (this.#rows.length === 0) this.#checkReadable();
    const rows = this.#mergeDuplicates(this.#rows.sort(byKey));
    const { outOfBounds } = this;
    const limit = Math.max(
      MAX_OUTSIDE.rows,
      MAX_OUTSIDE.share * (this.#rows.length + (outOfBounds?.rows ?? 0)),
    );
    if (outOfBounds && outOfBounds.rows > limit) throw new UntrustedSeriesError(outOfBounds.reason);
    return this.#withoutEmptyCells(rows);
  }

  /** Keeps an empty cell of a wide table only between the first and the last year with a value of its country. */
  #withoutEmptyCells(rows: readonly Row[]): readonly Row[] {
    if (!rows.some(({ blank }) => blank)) return rows;
    const isMeasured = ({ value }: Row): boolean => value !== null;
    const kept = [...Map.groupBy(rows, ({ iso3 }) => iso3).values()].flatMap((ofCountry) => {
      const first = ofCountry.findIndex(isMeasured);
      const last = ofCountry.findLastIndex(isMeasured);
      return ofCountry.filter(({ blank }, at) => !blank || (at > first && at < last));
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

  /** @param rows in the order of their keys. @returns one of each key. */
  #mergeDuplicates(rows: readonly Row[]): Row[] {
    const conflicts: string[] = [];
    const kept: Row[] = [];
    for (const row of rows) {
      const before = kept.at(-1);
      if (before?.iso3 !== row.iso3 || before.year !== row.year) {
        kept.push(row);
        continue;
      }
      const key = `${row.iso3} ${row.year}`;
      const merged = mergeRows(before, row);
      if (merged === null) conflicts.push(`${key} has two different values: ${showBoth(before, row)}`);
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
}

const byKey = (a: Row, b: Row): number => (a.iso3 === b.iso3 ? a.year - b.year : a.iso3 < b.iso3 ? -1 : 1);

/** The one that stays of two rows of the same country and year; null when both have figures and these differ. */
function mergeRows(first: Row, second: Row): Row | null {
  const isSame = (['value', 'ci_lo', 'ci_hi', 'projected'] as const).every(
    (name) => first[name] === second[name],
  );
  if (isSame) return { ...first, blank: first.blank && second.blank };
  if (isGap(first)) return second;
  return isGap(second) ? first : null;
}

const isGap = ({ value, ci_lo, ci_hi }: Row): boolean => value === null && ci_lo === null && ci_hi === null;

/** `61.2 (60 to 62.5) and 59.8 projected`, with the places where upstream writes them in two ways. */
function showBoth(first: Row, second: Row): string {
  const [one, other] = [showFigures(first), showFigures(second)];
  if (first.place === second.place) return `${one} and ${other}`;
  return `${one} of "${first.place}" and ${other} of "${second.place}"`;
}

/** `61.2 (60 to 62.5) projected` */
function showFigures({ value, ci_lo, ci_hi, projected }: Row): string {
  const bounds = ci_lo === null && ci_hi === null ? '' : ` (${ci_lo ?? 'nothing'} to ${ci_hi ?? 'nothing'})`;
  return `${value ?? 'nothing'}${bounds}${projected ? ' projected' : ''}`;
}

function rejectReason(raw: RawObservation): RejectReason | null {
  if (raw.withdrawn) return 'withdrawn';
  if (raw.other_dimension !== undefined) return 'other_dimension';
  return raw.aggregate ? 'aggregate_place' : null;
}
