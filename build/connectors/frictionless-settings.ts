/**
 * What a definition can say of Frictionless packages. Nothing has to be said where a package describes itself; what is
 * said for all packages can be said again for one.
 */
import { z } from 'zod';
import { columnPartners, pattern, rolePatterns } from './column-roles.ts';

const columnSettings = columnPartners.extend({
  slug: z.string().optional(),
  name: z.string().optional(),
  unit: z.string().optional(),
  description: z.string().optional(),
  skip: z.boolean().default(false),
});

/** What can be said for all packages and again for one. */
const tableSettings = {
  /** Which resource; default: the first that is CSV. */
  resource: z.string().optional(),
  /** Columns with the place, best first; an empty cell falls through to the next. Default: found by name. */
  place: z.array(z.string()).min(1).optional(),
  /** Default: the field of type `year`, or found by name. */
  year: z.string().optional(),
  /** Takes the year out of its cells: a regular expression with one group, such as `^(\d{4})-01-01$`. */
  year_pattern: pattern.optional(),
  /**
   * A table with a column for each year: a regular expression at their headers with the group `year`, and `series` where
   * the header names the series too, such as `^(?<series>\w+)_(?<year>\d{4})$`. Headers that are years are found.
   */
  year_columns: pattern.optional(),
  /** Figures are written with a comma. Default: what the fields of the package say (`decimalChar`). */
  decimal_comma: z.boolean().optional(),
  /** The character set, where the package says none or another: `windows-1252`. Default: what it says, or UTF-8. */
  encoding: z.string().optional(),
  /** The separator, where the package says none or another. Default: what it says, or what the header shows. */
  delimiter: z.string().length(1).optional(),
  /** Lines above the header. Default: what the package says, or none. */
  skip_lines: z.int().min(0).optional(),
  /** The columns that are series. Default: all others that are not text. */
  values: z.array(z.string()).min(1).optional(),
  /** A column that says something of the figure, kept as its status. */
  status: z.string().optional(),
  /** A column that flags forecasts. */
  projected: z.string().optional(),
  /** A long table of several series: the columns with their code, and with their name and unit where there are any. */
  series: z
    .strictObject({ code: z.string(), name: z.string().optional(), unit: z.string().optional() })
    .optional(),
  /** Cells to take, by column: rows with others are of another part of the population. */
  pin: z
    .record(
      z.string(),
      z.union([z.string(), z.array(z.string())]).transform((one) => [one].flat()),
    )
    .default({}),
};

/** What holds of one table. */
export type TableSettings = z.infer<ReturnType<typeof z.strictObject<typeof tableSettings>>>;

const packageSettings = z.strictObject({
  ...tableSettings,
  /** The directory of the package, or its `datapackage.json`; or a CSV file that nothing describes. */
  path: z.string(),
  /** The table's file, where the package names it wrongly. */
  file: z.string().optional(),
  slug: z.string().optional(),
  tags: z.array(z.string()).default([]),
  /** What to leave out of the slugs of its columns, such as "(HYDE (2017))" in every one of them. */
  strip: pattern.optional(),
  /** By column. */
  columns: z.record(z.string(), columnSettings).default({}),
});
export type PackageSettings = z.infer<typeof packageSettings>;

/** A package of which nothing is said but where it is, or all that is said of one. */
export const toPackage = (one: string | PackageSettings): PackageSettings =>
  typeof one === 'string' ? packageSettings.parse({ path: one }) : one;

export const frictionlessSettings = z.strictObject({
  ...tableSettings,
  packages: z
    .array(z.union([z.string(), packageSettings]))
    .default(['datapackage.json'])
    .transform((all) => all.map(toPackage)),
  /** Many packages alike: `path` with `{name}`, once for each name. */
  each: z.strictObject({ path: z.string().includes('{name}'), names: z.array(z.string()).min(1) }).optional(),
  /** Dotted paths of the properties of a field that hold its unit and its display name. */
  field: z.strictObject({ unit: z.string().default('unit'), name: z.string().default('title') }).prefault({}),
  /** The package's properties with subject words. */
  tags: z.array(z.string()).default(['keywords']),
  /** Takes a unit from brackets at the end of a name: "Forest area (sq. km)". */
  unit_from_name: z.boolean().default(false),
  roles: rolePatterns.prefault({}),
  missing: z.array(z.string()).default([]),
  /** Whether an empty cell is a published gap (null) or no row at all. */
  empty: z.enum(['null', 'absent']).default('null'),
});
export type FrictionlessSettings = z.infer<typeof frictionlessSettings>;

/** What is said of one package wins over what is said of all; pins add up. */
export function tableSettingsOf(all: FrictionlessSettings, one: PackageSettings): TableSettings {
  const names = Object.keys(tableSettings) as (keyof TableSettings)[];
  const said = names.map((name) => [name, one[name] ?? all[name]]);
  return { ...Object.fromEntries(said), pin: { ...all.pin, ...one.pin } };
}
