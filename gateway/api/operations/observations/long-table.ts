/**
 * Observations in rows, one a series, country and year: which rows an answer has, the columns they may have, what these
 * mean, and how each is filled.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import {
  BATCH_ROWS,
  type Batch,
  type Column,
  type ColumnType,
  type DescribedColumn,
  type IntegerVector,
  NO_FLAG,
  NO_INTEGER,
  NO_WORD,
  textVector,
  type Vector,
} from '../../encoders/encoders.ts';
import {
  type ColumnArrays,
  detailsOf,
  type Edition,
  NO_RANK,
  type Omission,
  type RowFilter,
  type SelectedRows,
} from '../../snapshot/snapshot.ts';
import { ROWS_MAX } from '../operation.ts';
import type { Place, RowDetail, RowSource } from './row-source.ts';

/** What is counted is kept for writing as long as all of it is small; the rest is read again, series by series. */
const KEPT_BYTES = 8 * 1024 * 1024;

/** Rows counted before the event loop gets a turn: series in memory are read without waiting. */
const ROWS_PER_TURN = 32_768;

interface Asked {
  filter: RowFilter;
  omission: Omission;
}

export const publishedRows = ({ observations, countriesByCode }: Edition): RowSource => ({
  select: ({ id }, filter, omission) => observations.select(id, filter, omission),
  async details({ id }, rows, { countries = [...countriesByCode.keys()], from, to }) {
    return detailsOf(rows, await observations.details(id, { countries, from, to }));
  },
});

/** The rows of one series that an answer has: counted first, so that their price is known, and loaded when written. */
export interface SelectedSeries {
  record: IndicatorRecord;
  rows: number;
  /** All rows, or at least those of some countries. */
  load(countries?: readonly string[]): SelectedRows | Promise<SelectedRows>;
}

/**
 * The rows of all series, whose count stops beyond `ROWS_MAX`.
 * @param look is shown the rows of each series once.
 * @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable}
 */
export async function selectSeries(
  source: RowSource,
  records: readonly IndicatorRecord[],
  asked: Asked,
  look: ((rows: SelectedRows) => void) | null,
): Promise<{ series: readonly SelectedSeries[]; rows: number }> {
  const { filter, omission } = asked;
  const series: SelectedSeries[] = [];
  let rows = 0;
  let keptBytes = 0;
  let sinceTurn = 0;
  for (const record of records) {
    const selected = await source.select(record, filter, omission);
    look?.(selected);
    rows += selected.count;
    if (rows > ROWS_MAX) break;
    const kept = keptBytes <= KEPT_BYTES ? selected : null;
    series.push({ record, rows: selected.count, load: loader(source, record, asked, kept) });
    keptBytes += selected.held.bytes;
    sinceTurn += selected.count;
    if (sinceTurn >= ROWS_PER_TURN) {
      sinceTurn = 0;
      await nextTurn();
    }
  }
  return { series, rows };
}

/** Not a closure of the loop, which would keep all rows that were read alive. */
const loader =
  (
    source: RowSource,
    record: IndicatorRecord,
    { filter, omission }: Asked,
    kept: SelectedRows | null,
  ): SelectedSeries['load'] =>
  (countries = filter.countries) =>
    kept ?? source.select(record, { ...filter, countries }, omission);

/** The selected rows of one indicator. */
interface Series {
  record: IndicatorRecord;
  selected: SelectedRows;
  /** By row; null unless a column needs them. */
  details: readonly RowDetail[] | null;
}

/** Consecutive rows of an answer that are of the same indicator. */
interface Run {
  series: Series;
  /** The number of the series in the answer. */
  which: number;
  /** The first row in the batch, and the row after the last. */
  start: number;
  end: number;
  /** The first row among those selected of the series. */
  first: number;
}

/** Consecutive rows of an answer, possibly of several indicators. */
interface RowRefs {
  rows: number;
  runs: Run[];
  /** By row: an index into the countries of the answer. */
  country: Int32Array;
}

/** What indices of rows refer to. */
interface Dictionaries {
  records: readonly IndicatorRecord[];
  countries: readonly Place[];
}

interface FieldColumn {
  type: ColumnType;
  /** For those that downloads have. */
  description?: string;
  needsDetails?: true;
  vector(refs: RowRefs, dictionaries: Dictionaries): Vector;
}

/** Text of each row's indicator. */
const ofIndicator = (pick: (record: IndicatorRecord) => string | null, description = ''): FieldColumn => ({
  type: 'text',
  description,
  vector({ runs, rows }, { records }) {
    const { words, codes: wordOf } = textVector(records.map(pick));
    const codes = new Int32Array(rows);
    for (const { which, start, end } of runs) codes.fill(wordOf[which] ?? NO_WORD, start, end);
    return { type: 'text', words, codes };
  },
});

/** Text of each row's country. */
const ofCountry = (pick: (record: Place) => string | null, description = ''): FieldColumn => ({
  type: 'text',
  description,
  vector({ country, rows }, { countries }) {
    const { words, codes: wordOf } = textVector(countries.map(pick));
    const codes = new Int32Array(rows);
    for (let row = 0; row < rows; row += 1) codes[row] = wordOf[country[row] ?? NO_WORD] ?? NO_WORD;
    return { type: 'text', words, codes };
  },
});

type NumericArray = Float64Array | Int32Array | Int16Array | Uint8Array;

/** Copies what rows have in a column of their indicators. @param missing stands where an indicator lacks the column. */
function gather<Into extends NumericArray>(
  { runs }: RowRefs,
  into: Into,
  pick: (columns: ColumnArrays) => NumericArray | null,
  missing: number,
): Into {
  for (const { series, start, end, first } of runs) {
    const { held, at } = series.selected;
    const column = pick(held.columns);
    if (column === null) into.fill(missing, start, end);
    else
      for (let row = start; row < end; row += 1) into[row] = column[at[row - start + first] ?? 0] ?? missing;
  }
  return into;
}

const double = (pick: (columns: ColumnArrays) => Float64Array | null, description: string): FieldColumn => ({
  type: 'double',
  description,
  vector: (refs) => ({
    type: 'double',
    values: gather(refs, new Float64Array(refs.rows), pick, Number.NaN),
  }),
});

const integer = (
  pick: (columns: ColumnArrays) => Int32Array | Int16Array,
  nullAs: number | null,
  description: string,
): FieldColumn => ({
  type: 'integer',
  description,
  vector: (refs) => ({
    type: 'integer',
    values: gather(refs, new Int32Array(refs.rows), pick, 0),
    nullAs,
  }),
});

/** By row; undefined where the row has none. */
const rowDetails = ({ runs }: RowRefs): (RowDetail | undefined)[] =>
  runs.flatMap(({ series, start, end, first }) =>
    Array.from({ length: end - start }, (_, offset) => series.details?.[first + offset]),
  );

const detailed = (
  pick: (detail: RowDetail) => number | null | undefined,
  description: string,
): FieldColumn => ({
  type: 'integer',
  description,
  needsDetails: true,
  vector(refs): IntegerVector {
    const values = Int32Array.from(rowDetails(refs), (detail) => (detail && pick(detail)) ?? NO_INTEGER);
    return { type: 'integer', values, nullAs: NO_INTEGER };
  },
});

const detailedText = (
  pick: (detail: RowDetail) => string | null | undefined,
  description: string,
): FieldColumn => ({
  type: 'text',
  description,
  needsDetails: true,
  vector: (refs) => textVector(rowDetails(refs).map((detail) => (detail && pick(detail)) ?? null)),
});

const COLUMNS = {
  indicator: ofIndicator(({ id }) => id, 'Id of the indicator'),
  indicator_name: ofIndicator(({ name }) => name),
  unit: ofIndicator(({ unit }) => unit),
  iso3: ofCountry(({ iso3 }) => iso3, 'The country, by its ISO 3166-1 alpha-3 code'),
  group: ofCountry(({ group }) => group ?? null, 'The group of countries, by @ and id'),
  iso2: ofCountry(({ iso2 }) => iso2),
  m49: {
    type: 'integer',
    vector: ({ country, rows }, { countries }) => ({
      type: 'integer',
      values: country.subarray(0, rows).map((code) => countries[code]?.m49 ?? NO_INTEGER),
      nullAs: NO_INTEGER,
    }),
  },
  name: ofCountry(({ name }) => name),
  region: ofCountry(({ region }) => region),
  income_group: ofCountry(({ income_group }) => income_group),
  year: integer(({ year }) => year, null, 'Calendar year'),
  value: double(({ value }) => value, 'The figure; missing where there is none'),
  ci_lo: double(({ ciLo }) => ciLo, 'Lower bound of the figure'),
  ci_hi: double(({ ciHi }) => ciHi, 'Upper bound of the figure'),
  rank: integer(
    ({ rank }) => rank,
    NO_RANK,
    'Rank among the countries in that year; equal figures share one',
  ),
  rank_delta_1y: detailed(
    ({ rank_delta_1y }) => rank_delta_1y,
    'Rank in the year before minus rank; positive is up',
  ),
  rank_lo: detailed(({ rank_lo }) => rank_lo, 'Best rank that the bounds allow'),
  rank_hi: detailed(({ rank_hi }) => rank_hi, 'Worst rank that the bounds allow'),
  status: detailedText(({ status }) => status, 'Status of the figure, in words of SDMX CL_OBS_STATUS'),
  reason: detailedText(({ reason }) => reason, 'Why a derived figure is missing'),
  members: detailed(({ group }) => group?.members, 'Members of the group, each counted once'),
  counted: detailed(({ group }) => group?.counted, 'Members whose figure counts'),
  coverage: {
    type: 'double',
    description: 'The part of the group that counts, 0 to 1',
    needsDetails: true,
    vector: (refs) => ({
      type: 'double',
      values: Float64Array.from(rowDetails(refs), (detail) => detail?.group?.coverage ?? Number.NaN),
    }),
  },
  method: detailedText(({ group }) => group?.method, 'How the figure of the group was made: `sum` or `mean`'),
  projected: {
    type: 'boolean',
    description: 'Whether the figure is a forecast',
    vector: (refs) => ({
      type: 'boolean',
      values: gather(refs, new Uint8Array(refs.rows), ({ projected }) => projected, NO_FLAG),
    }),
  },
} as const satisfies Record<string, FieldColumn>;

export type Field = keyof typeof COLUMNS;
export const FIELDS = Object.keys(COLUMNS) as [Field, ...Field[]];

/** The columns of rows of one indicator; several are told apart by `indicator` before them. */
export const USUAL_FIELDS: readonly Field[] = [
  ...(['iso3', 'year', 'value', 'ci_lo', 'ci_hi', 'rank', 'projected'] as const),
];

/** The same, where rows may be of groups. */
export const FIELDS_WITH_GROUPS: readonly Field[] = USUAL_FIELDS.flatMap((field) =>
  field === 'iso3' ? [field, 'group'] : [field],
);

export const longColumns = (fields: readonly Field[]): Column[] =>
  fields.map((name) => ({ name, type: COLUMNS[name].type }));

/** Columns of downloads, in words. @param unit of the figures; null where they have none, or not the same in all rows. */
export const describedColumns = (fields: readonly Field[], unit: string | null): DescribedColumn[] =>
  fields.map((name) => {
    const { type, description = '' }: FieldColumn = COLUMNS[name];
    return { name, type, description, unit: type === 'double' ? unit : null };
  });

export async function* longBatches(
  snapshot: Edition,
  fields: readonly Field[],
  selected: readonly SelectedSeries[],
  filter: RowFilter,
  source: RowSource,
): AsyncGenerator<Batch> {
  const countries: readonly Place[] = [...snapshot.countriesByCode.values(), ...(source.groups ?? [])];
  const dictionaries: Dictionaries = { records: selected.map(({ record }) => record), countries };
  const columns = fields.map((field): FieldColumn => COLUMNS[field]);
  const needsDetails = columns.some((column) => column.needsDetails);
  const load = async (one: SelectedSeries): Promise<Series> => {
    const rows = await one.load();
    const details = needsDetails ? await source.details(one.record, rows, filter) : null;
    return { record: one.record, selected: rows, details };
  };
  for await (const refs of rowRefs(selected, countries, load))
    yield { rows: refs.rows, vectors: columns.map((column) => column.vector(refs, dictionaries)) };
}

const noRows = (left: number): RowRefs => ({
  rows: 0,
  runs: [],
  country: new Int32Array(Math.min(left, BATCH_ROWS)),
});

/** All rows in order, as many at a time as a batch takes. */
async function* rowRefs(
  selected: readonly SelectedSeries[],
  countries: readonly Place[],
  load: (series: SelectedSeries) => Promise<Series>,
): AsyncGenerator<RowRefs> {
  const codes = new Map(countries.map(({ iso3, group }, code) => [group ?? iso3, code]));
  let left = selected.reduce((sum, { rows }) => sum + rows, 0);
  let refs = noRows(left);
  for (const [which, one] of selected.entries()) {
    if (one.rows === 0) continue;
    const series = await load(one);
    const { held, country } = series.selected;
    const codeOf = held.countries.map((iso3) => codes.get(iso3) ?? -1);
    for (let first = 0; first < country.length; ) {
      if (refs.rows === BATCH_ROWS) {
        yield refs;
        left -= refs.rows;
        refs = noRows(left);
      }
      const start = refs.rows;
      const end = Math.min(BATCH_ROWS, start + country.length - first);
      for (let row = start; row < end; row += 1)
        refs.country[row] = codeOf[country[row - start + first] ?? 0] ?? -1;
      refs.runs.push({ series, which, start, end, first });
      refs.rows = end;
      first += end - start;
    }
  }
  if (refs.rows > 0) yield refs;
}
