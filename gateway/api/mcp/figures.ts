/** Figures for tools: asked for through the operation `data`, which decides what they cost and whether they may be given. */
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import { data } from '../operations/observations/data.ts';
import type { Invalid, Refused } from '../operations/operation.ts';
import type { Edition } from '../snapshot/editions/edition.ts';
import { NO_RANK } from '../snapshot/rows/indicator-columns.ts';
import { statusKey } from '../snapshot/rows/observations.ts';
import type { SelectedRows } from '../snapshot/rows/selected-rows.ts';
import { type Figure, NO_ESTIMATE, type Refusal } from './answer.ts';
import { type Asking, type InnerCall, planInner } from './inner-call.ts';

export interface FiguresAsked {
  indicators: readonly string[];
  /** ISO3 codes; absent for all countries. */
  countries?: readonly string[] | undefined;
  from?: number | undefined;
  to?: number | undefined;
  latest?: number | undefined;
}

/** No answer has room for more figures. */
export const FIGURES_MAX = 400;

/** The same question, as `data` is asked it over HTTP. */
export const dataCall = ({ indicators, countries, from, to, latest }: FiguresAsked): InnerCall => ({
  operation: data,
  query: {
    indicators: indicators.join(','),
    countries: countries?.join(','),
    from,
    to,
    latest,
    missing: 'omit',
  },
});

export interface Figures {
  kind: 'figures';
  /** What all of them cost. */
  price: number;
  /** How many there are. */
  rows: number;
  /** As the ledger names them. */
  indicators: readonly string[];
  /** At most `FIGURES_MAX`. */
  figures: Figure[];
}

/** @param records of the indicators asked for. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
export async function askFigures(
  asking: Asking,
  records: readonly IndicatorRecord[],
  asked: FiguresAsked,
): Promise<Figures | Refused | Invalid> {
  const planned = await planInner(asking, dataCall(asked));
  if (planned.kind !== 'plan') return planned;
  const { edition } = asking;
  const figures: Figure[] = [];
  for (const record of records) {
    if (figures.length >= FIGURES_MAX) break;
    const rows = await figuresOf(record, asked, edition, FIGURES_MAX - figures.length);
    figures.push(...rows);
  }
  const { price, rows, indicators = [] } = planned;
  return { kind: 'figures', price, rows, indicators, figures: await withStatus(figures, edition) };
}

/** The rows that the operation `data` gives, without the columns and encodings that a table of any length needs. */
async function figuresOf(
  record: IndicatorRecord,
  { countries, from, to, latest }: FiguresAsked,
  { observations, countriesByCode }: Edition,
  max: number,
): Promise<Figure[]> {
  const filter = { countries: countries?.toSorted(), from, to };
  const { held, at, country } = await observations.selectRows(record.id, filter, { latest, missing: true });
  const { year, value, ciLo, ciHi, rank, projected } = held.columns;
  return Array.from(at.subarray(0, max), (position, row): Figure => {
    const iso3 = held.countries[country[row] ?? 0] ?? '';
    const place = rank[position] ?? NO_RANK;
    return {
      ...{ indicator: record.id, iso3, country: countriesByCode.get(iso3)?.name ?? iso3 },
      ...{ year: year[position] ?? 0, value: value[position] ?? Number.NaN, unit: record.unit },
      status: null,
      projected: projected[position] === 1,
      ...bound('ci_lo', ciLo?.[position]),
      ...bound('ci_hi', ciHi?.[position]),
      ...(place === NO_RANK ? {} : { rank: place }),
    };
  });
}

const bound = (name: 'ci_lo' | 'ci_hi', value: number | undefined) =>
  value === undefined || Number.isNaN(value) ? {} : { [name]: value };

/** The figures with what their source says of each. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
export async function withStatus(figures: readonly Figure[], { observations }: Edition): Promise<Figure[]> {
  const known = new Map<string, ReadonlyMap<string, string>>();
  for (const [indicator, own] of Map.groupBy(figures, (figure) => figure.indicator)) {
    const years = own.map(({ year }) => year);
    const countries = [...new Set(own.map(({ iso3 }) => iso3))];
    const filter = { countries, from: Math.min(...years), to: Math.max(...years) };
    known.set(indicator, await observations.statuses(indicator, filter));
  }
  return figures.map((figure) => {
    const status = known.get(figure.indicator)?.get(statusKey(figure.iso3, figure.year));
    return status === undefined ? figure : { ...figure, status };
  });
}

export interface HeldYears {
  /** Ascending. */
  measured: number[];
  projected: number[];
}

/** The years for which a series has values, by country. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
export async function heldYears(
  { observations }: Edition,
  indicator: string,
  countries: readonly string[],
): Promise<Map<string, HeldYears>> {
  const filter = { countries: countries.toSorted() };
  const selected = await observations.selectRows(indicator, filter, { missing: true });
  const years = new Map<string, HeldYears>(countries.map((iso3) => [iso3, { measured: [], projected: [] }]));
  for (const { iso3, year, projected } of rowsHeld(selected))
    years.get(iso3)?.[projected ? 'projected' : 'measured'].push(year);
  return years;
}

function* rowsHeld({ held, at, country }: SelectedRows) {
  for (const [row, position] of at.entries())
    yield {
      iso3: held.countries[country[row] ?? 0] ?? '',
      year: held.columns.year[position] ?? 0,
      projected: held.columns.projected[position] === 1,
    };
}

/** The held year before and the one after what was asked for. @param years in any order */
export function nearestYears(
  years: readonly number[],
  { from, to }: Pick<FiguresAsked, 'from' | 'to'>,
): number[] {
  const before = years.filter((year) => to === undefined || year <= to);
  const after = years.filter((year) => from === undefined || year >= from);
  const nearest = [
    before.length > 0 ? Math.max(...before) : null,
    after.length > 0 ? Math.min(...after) : null,
  ];
  return [...new Set(nearest.filter((year) => year !== null))].sort((a, b) => a - b);
}

const asText = ({ from, to }: Pick<FiguresAsked, 'from' | 'to'>): string => {
  if (from === undefined && to === undefined) return '';
  if (from === to) return ` for ${from}`;
  return ` for ${[from === undefined ? '' : `from ${from}`, to === undefined ? '' : `to ${to}`].filter((part) => part !== '').join(' ')}`;
};

/** Why a country of a series has no figure among those that were asked for. */
export function noData(
  record: IndicatorRecord,
  country: { iso3: string; name: string },
  { measured, projected }: HeldYears,
  asked: Pick<FiguresAsked, 'from' | 'to' | 'latest'>,
): Refusal {
  const held = asked.latest === undefined ? [...measured, ...projected] : measured;
  const nearest_years = nearestYears(held, asked);
  const known =
    nearest_years.length > 0
      ? `The nearest years held are ${nearest_years.join(' and ')}.`
      : held.length === 0 && projected.length > 0
        ? `Only forecasts are held, of ${Math.min(...projected)} to ${Math.max(...projected)}.`
        : 'It has none for any year.';
  return {
    reason: 'no_data',
    message: `Almanac holds no figure of “${record.name}” for ${country.name}${asText(asked)}. ${known} ${NO_ESTIMATE}`,
    place: country.iso3,
    indicator: record.id,
    nearest_years,
  };
}
