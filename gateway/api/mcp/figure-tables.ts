/** Figures as an answer gives them: tables that say once what is the same in all of their rows. */
import { z } from 'zod';

/** A figure with all that is said of it alone. Its unit is that of its series. */
export interface Figure {
  indicator: string;
  /** Null for a group. */
  iso3: string | null;
  /** A group that is one place, by @ and id. */
  group?: string;
  /** The name of either. */
  country: string;
  year: number;
  value: number;
  /** As the source flags it (SDMX CL_OBS_STATUS); null where it does not. */
  status: string | null;
  projected: boolean;
  ci_lo?: number;
  ci_hi?: number;
  /** Among all countries in that year. */
  rank?: number | null;
  /** Of a group: the part of it that counts, and how its figure was made. */
  coverage?: number;
  method?: string;
}

const COLUMNS = [
  ...(['indicator', 'iso3', 'group', 'country', 'year', 'value', 'status'] as const),
  ...(['projected', 'ci_lo', 'ci_hi', 'rank', 'coverage', 'method'] as const),
];

const cell = z.union([z.string(), z.number(), z.boolean()]).nullable();

export const figureTable = z.object({
  same: z.record(z.string(), cell),
  columns: z.array(z.enum(COLUMNS)),
  rows: z.array(z.array(cell)),
});
export type FigureTable = z.infer<typeof figureTable>;

export const isTable = (value: unknown): value is FigureTable =>
  typeof value === 'object' && value !== null && 'same' in value && 'rows' in value;

function toTable(figures: readonly Figure[]): FigureTable {
  const same: FigureTable['same'] = {};
  const columns: FigureTable['columns'] = [];
  const [first] = figures;
  for (const column of COLUMNS) {
    const value = first?.[column];
    if (column === 'value' || figures.some((figure) => figure[column] !== value)) columns.push(column);
    else if (value !== undefined) same[column] = value;
  }
  return { same, columns, rows: figures.map((figure) => columns.map((column) => figure[column] ?? null)) };
}

/** A table for each indicator, or, where a country has several years of it, for each country; one for all where each has one figure. */
export function toTables(figures: readonly Figure[]): FigureTable[] {
  const byIndicator = Map.groupBy(figures, ({ indicator }) => indicator);
  if (figures.length > 0 && byIndicator.size === figures.length) return [toTable(figures)];
  return [...byIndicator.values()].flatMap((own) => {
    const byCountry = Map.groupBy(own, ({ iso3, group }) => group ?? iso3);
    return byCountry.size === own.length ? [toTable(own)] : [...byCountry.values()].map(toTable);
  });
}

export const countRows = (tables: readonly FigureTable[]): number =>
  tables.reduce((sum, { rows }) => sum + rows.length, 0);
