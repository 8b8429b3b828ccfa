/**
 * The expected outcome of each row of a provider's files, computed from the curated tables independently of ingestion:
 * stored rows, rejected rows by reason, failed series.
 */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'csv-parse/sync';

/** One row of one series in an upstream file. */
export interface FileRow {
  place: string;
  year: string;
  /** Null is a published gap; text is a malformed number. */
  value: number | string | null;
  low: number | null;
  high: number | null;
  /** A reason that the provider's format states; it precedes all others. */
  excluded?: 'withdrawn' | 'other_dimension' | 'aggregate_place';
}

export interface ExpectedRow {
  iso3: string;
  year: number;
  value: number | null;
  low: number | null;
  high: number | null;
}

export interface ExpectedRows {
  /** Stored rows by series, ordered by country and year. */
  kept: Map<string, ExpectedRow[]>;
  /** Rejected rows by reason. */
  rejected: Map<string, number>;
  /** Rows lost with failed series: those with contradicting figures, and those without any readable row. */
  failed: Map<string, number>;
}

type Place = { iso3: string } | { reason: string };
const table = (file: string): Record<string, string>[] =>
  parse(readFileSync(file), { columns: true, bom: true });

/** Resolves codes as `data/README.md` specifies: schemes in order, with the countries' own codes under `iso3`. */
export function placesOf(schemes: readonly string[]): (code: string) => Place {
  const places = new Map<string, Place>();
  const spine = table('data/countries.csv').map(({ iso3 = '' }) => ({ scheme: 'iso3', code: iso3, iso3 }));
  for (const row of [...spine, ...table('data/places.csv')] as Record<string, string>[]) {
    const place = row.iso3 ? { iso3: row.iso3 } : { reason: `${row.kind}_place` };
    places.set(`${row.scheme} ${row.code?.toUpperCase()}`, place);
  }
  return (code) => {
    const found = schemes.map((scheme) => places.get(`${scheme} ${code.toUpperCase()}`));
    return found.find((place) => place !== undefined) ?? { reason: 'unknown_place' };
  };
}

/** The rows of a wide table without its empty cells outside the measured years of a place. */
export function withoutEmptyCells<Row>(
  rows: readonly Row[],
  read: (row: Row) => { place: string; year: number; isEmpty: boolean },
): Row[] {
  const spans = new Map<string, { first: number; last: number }>();
  for (const { place, year } of rows.map(read).filter(({ isEmpty }) => !isEmpty)) {
    const { first, last } = spans.get(place) ?? { first: year, last: year };
    spans.set(place, { first: Math.min(first, year), last: Math.max(last, year) });
  }
  return rows.filter((row) => {
    const { place, year } = read(row);
    const span = spans.get(place);
    return span !== undefined && year >= span.first && year <= span.last;
  });
}

type Bounds = readonly [min: number, max: number];

/** The stored row, or the reason for its rejection. */
function judge(row: FileRow, placeOf: (code: string) => Place, [min, max]: Bounds): ExpectedRow | string {
  if (row.excluded) return row.excluded;
  const place = placeOf(row.place);
  if ('reason' in place) return place.reason;
  if (!/^\d{4}$/.test(row.year)) return 'bad_year';
  const { value, low, high } = row;
  if (typeof value === 'string') return 'bad_number';
  if (value !== null && (value < min || value > max)) return 'out_of_bounds';
  return { iso3: place.iso3, year: Number(row.year), value, low, high };
}

const isGap = ({ value, low, high }: ExpectedRow): boolean => value === null && low === null && high === null;

/** Reports each rejected row. @param judged the rows of one series */
function expectSeries(
  judged: readonly (ExpectedRow | string)[],
  reject: (reason: string) => void,
): { kept: ExpectedRow[]; contradicting: number } {
  const first = new Map<string, ExpectedRow>();
  let contradicting = 0;
  for (const row of judged) {
    if (typeof row === 'string') {
      reject(row);
      continue;
    }
    const key = `${row.iso3} ${String(row.year).padStart(4, '0')}`;
    const before = first.get(key);
    if (before === undefined || isGap(before)) first.set(key, row);
    if (before === undefined) continue;
    if (isGap(before) || isGap(row) || isDeepStrictEqual(before, row)) reject('duplicate_key');
    else contradicting += 1;
  }
  const kept = [...first].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
  return { kept, contradicting };
}

/** @param bounds curated bounds by series */
export function expectRows(
  series: ReadonlyMap<string, readonly FileRow[]>,
  schemes: readonly string[],
  bounds: Readonly<Record<string, Bounds>> = {},
): ExpectedRows {
  const placeOf = placesOf(schemes);
  const account: ExpectedRows = { kept: new Map(), rejected: new Map(), failed: new Map() };
  for (const [slug, rows] of series) {
    const ofSeries = new Map<string, number>();
    const judged = rows.map((row) => judge(row, placeOf, bounds[slug] ?? [-Infinity, Infinity]));
    const { kept, contradicting } = expectSeries(judged, (reason) => {
      for (const counts of [account.rejected, ofSeries]) counts.set(reason, (counts.get(reason) ?? 0) + 1);
    });
    const unread = Math.max(...['unknown_place', 'bad_year'].map((one) => ofSeries.get(one) ?? 0));
    const isUnread = kept.length === 0 && unread * 2 > rows.length;
    if (contradicting > 0 || isUnread) account.failed.set(slug, kept.length + contradicting);
    else account.kept.set(slug, kept);
  }
  return account;
}
