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
  fields?: string[];
  layout?: 'long' | 'wide';
  latest?: number;
  missing?: 'null' | 'omit';
}

export interface World {
  countries: readonly CountryRecord[];
  indicators: readonly IndicatorRecord[];
  /** The plain answer for all of an indicator. */
  rowsOf(id: string): Promise<ObservationRow[]>;
}

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

async function selected(world: World, id: string, call: DataCall): Promise<ObservationRow[]> {
  const { countries, from = -Infinity, to = Infinity, latest, missing } = call;
  const passing = (await world.rowsOf(id)).filter(
    ({ iso3, year, value }) =>
      (countries === undefined || countries.includes(iso3)) &&
      from <= year &&
      year <= to &&
      (missing !== 'omit' || value !== null),
  );
  if (latest === undefined) return passing;
  const observed = passing.filter(({ value, projected }) => value !== null && !projected);
  return [...Map.groupBy(observed, ({ iso3 }) => iso3).values()].flatMap((rows) => rows.slice(-latest));
}

export async function expectedData(world: World, call: DataCall): Promise<Expected> {
  const ids = [...new Set([call.indicators].flat())];
  const rows: (ObservationRow & { indicator: string })[] = [];
  for (const id of ids)
    rows.push(...(await selected(world, id, call)).map((row) => ({ indicator: id, ...row })));
  const price = Math.max(1, rows.length);
  if (call.layout === 'wide') return { rows: wide(rows, ids), price };
  if (call.fields === undefined)
    return { rows: typeof call.indicators === 'string' ? rows.map(bare) : rows, price };
  return { rows: rows.map((row) => chosen(world, row, call.fields ?? [])), price };
}

const bare = ({ indicator: _, ...row }: ObservationRow & { indicator: string }): Row => row;

function chosen(world: World, row: ObservationRow & { indicator: string }, fields: string[]): Row {
  const country = world.countries.find(({ iso3 }) => iso3 === row.iso3);
  const indicator = world.indicators.find(({ id }) => id === row.indicator);
  const all: Row = {
    ...{ ...country, unit: indicator?.unit, indicator_name: indicator?.name },
    ...{ status: null, rank_lo: null, rank_hi: null },
    ...row,
  };
  return Object.fromEntries(fields.map((field) => [field, all[field]]));
}

function wide(rows: (ObservationRow & { indicator: string })[], ids: string[]): Row[] {
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
