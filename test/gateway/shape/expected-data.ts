/**
 * What GET /data must answer to a call about several indicators, fields, layouts and omissions, computed from the answers
 * for single indicators and from the lists of countries and indicators.
 */
import type { CountryRecord, IndicatorRecord, ObservationRow } from '../../../data/schema/records.ts';

export type Row = Record<string, unknown>;

export interface DataCall {
  /** One id for `indicator`, or a list for `indicators`. */
  indicators: string | string[];
  countries?: string[];
  from?: number;
  to?: number;
  years?: number[];
  fields?: string[];
  layout?: 'long' | 'wide';
  latest?: number;
  missing?: 'null' | 'omit';
}

export interface World {
  countries: readonly CountryRecord[];
  indicators: readonly IndicatorRecord[];
  /** All of an indicator, with the columns that only `fields` asks for. */
  rowsOf(id: string): Promise<FullRow[]>;
}

export interface FullRow extends ObservationRow {
  status: string | null;
  reason: string | null;
  rank_lo: number | null;
  rank_hi: number | null;
}
type NamedRow = FullRow & { indicator: string };

interface Expected {
  rows: Row[];
  price: number;
}

export const queryOf = ({ indicators, ...rest }: DataCall): string => {
  const single = typeof indicators === 'string';
  const parameters = { [single ? 'indicator' : 'indicators']: indicators, ...rest };
  return Object.entries(parameters)
    .map(([name, value]) => `${name}=${encodeURIComponent([value].flat().join(','))}`)
    .join('&');
};

async function selected(world: World, id: string, call: DataCall): Promise<FullRow[]> {
  const { countries, from = -Infinity, to = Infinity, years, latest, missing } = call;
  const passing = (await world.rowsOf(id)).filter(
    ({ iso3, year, value }) =>
      (countries === undefined || countries.includes(iso3)) &&
      from <= year &&
      year <= to &&
      (years === undefined || years.includes(year)) &&
      (missing !== 'omit' || value !== null),
  );
  if (latest === undefined) return passing;
  const observed = passing.filter(({ value, projected }) => value !== null && !projected);
  return [...Map.groupBy(observed, ({ iso3 }) => iso3).values()].flatMap((rows) => rows.slice(-latest));
}

export async function expectedData(world: World, call: DataCall): Promise<Expected> {
  const ids = [...new Set([call.indicators].flat())];
  const rows: NamedRow[] = [];
  for (const id of ids)
    rows.push(...(await selected(world, id, call)).map((row) => ({ indicator: id, ...row })));
  const price = Math.max(1, rows.length);
  if (call.layout === 'wide') return { rows: wide(rows, ids), price };
  if (call.fields === undefined)
    return { rows: rows.map(typeof call.indicators === 'string' ? withoutIndicator : usual), price };
  return { rows: rows.map((row) => chosen(world, row, call.fields ?? [])), price };
}

const usual = ({ status: _status, reason: _reason, rank_lo: _lo, rank_hi: _hi, ...row }: NamedRow): Row =>
  row;
const withoutIndicator = (row: NamedRow): Row => {
  const { indicator: _, ...rest } = usual(row);
  return rest;
};

function chosen(world: World, row: NamedRow, fields: string[]): Row {
  const country = world.countries.find(({ iso3 }) => iso3 === row.iso3);
  const indicator = world.indicators.find(({ id }) => id === row.indicator);
  const all: Row = {
    ...country,
    unit: indicator?.unit,
    indicator_name: indicator?.name,
    ...row,
  };
  return Object.fromEntries(fields.map((field) => [field, all[field] ?? null]));
}

function wide(rows: NamedRow[], ids: string[]): Row[] {
  const cells = Map.groupBy(rows, ({ iso3, year }) => `${iso3} ${String(year + 100_000).padStart(6, '0')}`);
  return [...cells.keys()].sort().map((key) => {
    const [first, ...others] = cells.get(key) ?? [];
    const cellOf = (id: string) => [first, ...others].find((row) => row?.indicator === id)?.value ?? null;
    return {
      iso3: first?.iso3,
      year: first?.year,
      ...Object.fromEntries(ids.map((id) => [id, cellOf(id)])),
    };
  });
}
