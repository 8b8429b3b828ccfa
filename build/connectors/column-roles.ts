/**
 * Which columns of a wide table belong together.
 *
 * Providers write the forecast part of a series and its confidence bounds as columns of their own beside it:
 * `Total` and `Total (Projected)`, `index`, `index_lower` and `index_upper`. A role is recognised by a pattern at the
 * column's name; what is left of the name when the pattern is taken away must be the name of another column. A column
 * that fits a pattern and has no such partner is a series of its own, so that nothing upstream publishes is lost.
 * A definition can add patterns, or say per column which others it goes with.
 */
import { z } from 'zod';

/** A regular expression as text, compiled case-insensitive. */
export const pattern = z.string().refine(isRegExp, 'a regular expression');

function isRegExp(source: string): boolean {
  try {
    return Boolean(new RegExp(source, 'iu'));
  } catch {
    return false;
  }
}

export const rolePatterns = z.strictObject({
  projected: z
    .array(pattern)
    .default([String.raw`[\s_-]*\((projected|projections?|forecast)\)$`, '[_ ]projected$']),
  ci_lo: z
    .array(pattern)
    .default([
      '_lower(_bound|_ci|_limit)?$',
      String.raw`[\s-]*\(?lower[\s_-](bound|estimate|limit|confidence limit)\)?$`,
      String.raw`^lower bound( of|[:,]| -)?\s+`,
      String.raw`\s*\(lower\)$`,
    ]),
  ci_hi: z
    .array(pattern)
    .default([
      '_upper(_bound|_ci|_limit)?$',
      String.raw`[\s-]*\(?upper[\s_-](bound|estimate|limit|confidence limit)\)?$`,
      String.raw`^upper bound( of|[:,]| -)?\s+`,
      String.raw`\s*\(upper\)$`,
    ]),
});
export type RolePatterns = z.infer<typeof rolePatterns>;
type Role = keyof RolePatterns;
const ROLES: readonly Role[] = ['projected', 'ci_lo', 'ci_hi'];

/** What a definition may say of one column; a role column named here is found by its exact name. */
export const columnPartners = z.strictObject({
  projected: z.string().optional(),
  ci_lo: z.string().optional(),
  ci_hi: z.string().optional(),
});
export type ColumnPartners = z.infer<typeof columnPartners>;

/** One series of a wide table, as column names. */
export interface WideSeries {
  /** The column that names the series. */
  column: string;
  /** The columns of observed values and of forecasts; one of the two may be absent, never both. */
  value: string | null;
  projected: string | null;
  ci_lo: string | null;
  ci_hi: string | null;
}

const normal = (name: string): string => name.trim().replaceAll(/\s+/g, ' ').toLowerCase();

/** The name without the role's mark, or null when the name has none. */
function baseOf(name: string, patterns: readonly string[]): string | null {
  for (const source of patterns) {
    const base = name.replace(new RegExp(source, 'iu'), '');
    if (base !== name && base.trim() !== '') return base.trim();
  }
  return null;
}

/** Role columns by name, with the series' column that each belongs to. */
function partnersOf(
  columns: readonly string[],
  patterns: RolePatterns,
  explicit: ReadonlyMap<string, ColumnPartners>,
): Map<string, { role: Role; base: string }> {
  const byName = new Map(columns.map((column) => [normal(column), column]));
  const partners = new Map<string, { role: Role; base: string }>();
  for (const column of columns) {
    for (const role of ROLES) {
      const base = byName.get(normal(baseOf(column, patterns[role]) ?? ''));
      if (base !== undefined && base !== column) partners.set(column, { role, base });
    }
  }
  for (const [base, roles] of explicit) {
    for (const role of ROLES) {
      const column = roles[role];
      if (column !== undefined) partners.set(column, { role, base });
    }
  }
  return partners;
}

/**
 * Groups the value columns of a table into series, in the order of the columns that name them.
 * @param columns the names of the value columns
 * @param explicit what the definition says, by the series' column; it wins over the patterns
 */
export function pairColumns(
  columns: readonly string[],
  patterns: RolePatterns,
  explicit: ReadonlyMap<string, ColumnPartners> = new Map(),
): WideSeries[] {
  const partners = partnersOf(columns, patterns, explicit);
  const series = new Map<string, WideSeries>();
  for (const column of columns.filter((name) => !partners.has(name))) {
    const forecast = baseOf(column, patterns.projected) !== null;
    series.set(column, {
      column,
      value: forecast ? null : column,
      projected: forecast ? column : null,
      ci_lo: null,
      ci_hi: null,
    });
  }
  for (const [column, { role, base }] of partners) {
    const owner = series.get(base);
    if (owner) owner[role] = column;
  }
  return [...series.values()];
}
