/**
 * Our World in Data's grapher: one CSV and one `.metadata.json` per chart.
 *
 * A chart is `Entity,Code,Year` and one column per series. `Code` is ISO 3166-1 alpha-3, an `OWID_…` code, or empty for
 * the many regions; an empty one falls back to the entity's name. Columns of forecasts and of bounds join the series
 * they belong to (`column-roles.ts`); names, units and credits come from the metadata (`grapher-metadata.ts`).
 * A chart that cannot be read fails alone; the provider fails when none can.
 *
 * Slugs: a chart with one series is that series (`child-mortality`); of several, each is `<chart>-<column>`.
 */
import { z } from 'zod';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import type { Connector, ConnectorContext, SourceItem } from './connector.ts';
import { type CsvTable, openCsv } from './csv.ts';
import { plainText, toSlug } from './plain-text.ts';
import { readParts } from './provider-parts.ts';
import { columnPartners, pairColumns, pattern, rolePatterns, type WideSeries } from './table-columns.ts';
import { readWideTable } from './table-reader.ts';

const columnSettings = columnPartners.extend({
  slug: z.string().optional(),
  /** The key of the metadata entry, where the rule of matching does not find it. */
  metadata: z.string().optional(),
  skip: z.boolean().default(false),
});

const chartSettings = z.strictObject({
  /** The chart's name in its address. */
  chart: z.string(),
  /** The first half of its slugs; default: the chart's name. */
  slug: z.string().optional(),
  /** Subject words, for the rules of the definition. */
  tags: z.array(z.string()).default([]),
  /** By CSV header. */
  columns: z.record(z.string(), columnSettings).default({}),
});
type ChartSettings = z.infer<typeof chartSettings>;

export const grapherSettings = z.strictObject({
  charts: z
    .array(z.union([z.string(), chartSettings]))
    .min(1)
    .transform((charts) =>
      charts.map((one) => (typeof one === 'string' ? chartSettings.parse({ chart: one }) : one)),
    ),
  /** Where a chart's two files are, `{chart}` standing for its name. */
  csv: z.string().default('{chart}.csv?v=1&csvType=full&useColumnShortNames=false'),
  metadata: z.string().default('{chart}.metadata.json?v=1&csvType=full&useColumnShortNames=false'),
  /** Where a person finds the chart. */
  page: z.string().default('https://ourworldindata.org/grapher/{chart}'),
  place: z.array(z.string()).default(['Code', 'Entity']),
  year: z.string().default('Year'),
  /** Takes the year out of its cells: a regular expression with one group, such as `^(\d{4})-01-01$` for a `Day`. */
  year_pattern: pattern.optional(),
  roles: rolePatterns.prefault({}),
  missing: z.array(z.string()).default([]),
  /** Whether an empty cell is a published gap (null) or no row at all. */
  empty: z.enum(['null', 'absent']).default('null'),
});
export type GrapherSettings = z.infer<typeof grapherSettings>;
type Context = ConnectorContext<GrapherSettings>;

const address = (template: string, chart: string): string =>
  template.replaceAll('{chart}', encodeURIComponent(chart));

function descriptionOf(column: GrapherColumn | undefined, chart: GrapherMetadata['chart']): string | null {
  const key = column?.descriptionKey ?? [];
  const parts = [column?.descriptionShort ?? chart.subtitle, ...(typeof key === 'string' ? [key] : key)];
  return plainText(parts.filter((part) => part).join('\n\n'));
}

/** Distinct licence names that the metadata states, or null when it states none. */
function licenceOf(column: GrapherColumn | undefined): string | null {
  const stated = [column?.license?.name, ...(column?.origins ?? []).map((origin) => origin.license?.name)];
  const names = [...new Set(stated.filter((name) => name))];
  return names.length > 0 ? names.join('; ') : null;
}

interface Chart {
  settings: ChartSettings;
  metadata: GrapherMetadata;
  table: CsvTable;
  series: WideSeries[];
  entries: CatalogueEntry[];
}

function entryOf(
  one: WideSeries,
  alone: boolean,
  column: GrapherColumn | undefined,
  chart: { settings: ChartSettings; metadata: GrapherMetadata; page: string },
): CatalogueEntry {
  const base = chart.settings.slug ?? toSlug(chart.settings.chart);
  const slug = chart.settings.columns[one.column]?.slug ?? (alone ? base : `${base}-${toSlug(one.column)}`);
  return {
    slug,
    name: plainText(column?.titleShort ?? (alone ? chart.metadata.chart.title : one.column)) ?? one.column,
    description: descriptionOf(column, chart.metadata.chart),
    unit: plainText(column?.unit ?? column?.shortUnit),
    source: plainText(column?.citationShort ?? chart.metadata.chart.citation),
    source_url: address(chart.page, chart.settings.chart),
    tags: [chart.settings.chart, ...chart.settings.tags],
    licence: licenceOf(column),
  };
}

async function openChart(context: Context, settings: ChartSettings): Promise<Chart> {
  const { settings: all, upstream } = context;
  const metadata = grapherMetadata.parse(
    JSON.parse(await upstream.text(address(all.metadata, settings.chart))),
  );
  const table = await openCsv(await upstream.stream(address(all.csv, settings.chart)), { delimiter: ',' });
  const keys = new Set([...all.place, all.year, 'Entity', 'Code', 'Year', 'Day']);
  const columns = table.header.filter((name) => !keys.has(name));
  const used = columns.filter((name) => !settings.columns[name]?.skip);
  const series = pairColumns(used, all.roles, new Map(Object.entries(settings.columns)));
  const matched = matchColumns(columns, metadata.columns);
  const entries = series.map((one) => {
    const key = settings.columns[one.column]?.metadata;
    const column = key === undefined ? matched.get(one.column) : metadata.columns[key];
    const page = all.page;
    return entryOf(one, series.length === 1, column, { settings, metadata, page });
  });
  return { settings, metadata, table, series, entries };
}

async function* readChart(context: Context, chart: Chart): AsyncGenerator<SourceItem, void, undefined> {
  const { settings, signal } = context;
  let announced = -1;
  const { place, year, year_pattern: yearPattern, missing, empty } = settings;
  const options = { place, year, yearPattern, missing, empty, series: chart.series, signal };
  for await (const { series, rows } of readWideTable(chart.table, options)) {
    const entry = chart.entries[series];
    if (!entry) continue;
    if (series !== announced) yield { kind: 'indicator', entry };
    announced = series;
    yield { kind: 'observations', slug: entry.slug, rows };
  }
}

function newest(dates: readonly (string | null | undefined)[]): string | null {
  return dates.reduce<string | null>((a, b) => (b && (a === null || b > a) ? b : a), null);
}

export const owidGrapher: Connector<GrapherSettings> = {
  protocol: 'owid-grapher',
  settings: grapherSettings,
  async *read(context) {
    const vintages: (string | null)[] = [];
    yield* readParts(context, context.settings.charts, {
      slug: (settings) => settings.slug ?? toSlug(settings.chart),
      open: (settings) => openChart(context, settings),
      slugs: (chart) => chart.entries.map((entry) => entry.slug),
      async *read(chart) {
        vintages.push(newest(Object.values(chart.metadata.columns).map((column) => column.lastUpdated)));
        yield* readChart(context, chart);
      },
    });
    const vintage = newest(vintages);
    if (vintage) yield { kind: 'vintage', vintage };
  },
};

/**
 * The `.metadata.json` beside a grapher CSV: what it says, and which of its entries belongs to which CSV column.
 *
 * The CSV is headed by display names, the metadata by variable names, and they agree in a minority of charts. The rule,
 * for the data columns in file order:
 *
 * 1. a header that equals an entry's key, short name, short title or long title is that entry (case and spaces aside,
 *    and with or without the unit in brackets at the end);
 * 2. the others are matched by position, when there are as many columns as entries and every match by name stands at
 *    its own position: the export writes both in one order;
 * 3. otherwise a header belongs to the one entry, of those that no name claims, whose names contain all its words;
 * 4. a header that none of this settles goes without metadata. A wrong unit is worse than none.
 */

const text = z.string().nullish();
const origin = z.looseObject({
  attribution: text,
  producer: text,
  citationFull: text,
  urlMain: text,
  license: z.looseObject({ name: text, url: text }).nullish(),
});

export const grapherColumn = z.looseObject({
  titleShort: text,
  titleLong: text,
  shortName: text,
  descriptionShort: text,
  descriptionKey: z.union([z.string(), z.array(z.string())]).nullish(),
  unit: text,
  shortUnit: text,
  lastUpdated: text,
  citationShort: text,
  citationLong: text,
  fullMetadata: text,
  origins: z.array(origin).nullish(),
  license: z.looseObject({ name: text, url: text }).nullish(),
});
export type GrapherColumn = z.infer<typeof grapherColumn>;

export const grapherMetadata = z.looseObject({
  chart: z.looseObject({ title: text, subtitle: text, citation: text, originalChartUrl: text }).prefault({}),
  columns: z.record(z.string(), grapherColumn),
});
export type GrapherMetadata = z.infer<typeof grapherMetadata>;

const normal = (name: string): string => name.trim().replaceAll(/\s+/g, ' ').toLowerCase();
const words = (name: string): string[] => name.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

function withoutUnit(name: string, column: GrapherColumn): string {
  const bracket = /\s*\(([^()]*)\)$/.exec(name);
  const units = [column.unit, column.shortUnit].filter((unit) => unit).map((unit) => normal(unit ?? ''));
  const inside = normal(bracket?.[1] ?? '');
  return bracket && units.some((unit) => inside.startsWith(unit)) ? name.slice(0, bracket.index) : name;
}

function namesOf(key: string, column: GrapherColumn): string[] {
  const names = [key, column.shortName, column.titleShort, column.titleLong].filter(
    (name) => name,
  ) as string[];
  return names.flatMap((name) => [name, withoutUnit(name, column)]);
}

/** Which entry of the metadata each header belongs to, by the rule above; headers without one are absent. */
export function matchColumns(
  headers: readonly string[],
  columns: GrapherMetadata['columns'],
): Map<string, GrapherColumn> {
  const entries = Object.entries(columns).map(([key, column]) => ({ column, names: namesOf(key, column) }));
  const matched = new Map<string, GrapherColumn>();
  const taken = new Set<GrapherColumn>();
  let inOrder = headers.length === entries.length;
  const take = (header: string, column: GrapherColumn): void => {
    matched.set(header, column);
    taken.add(column);
  };
  for (const [index, header] of headers.entries()) {
    const found = entries.findIndex((entry) => entry.names.some((name) => normal(name) === normal(header)));
    const entry = entries[found];
    if (!entry) continue;
    take(header, entry.column);
    inOrder &&= found === index;
  }
  const free = entries.filter((entry) => !taken.has(entry.column));
  for (const [index, header] of headers.entries()) {
    if (matched.has(header)) continue;
    const wanted = words(header);
    const holding = free.filter((entry) => entry.names.some((name) => containsAll(words(name), wanted)));
    const entry = inOrder ? entries[index] : holding.length === 1 ? holding[0] : undefined;
    if (entry && !taken.has(entry.column)) take(header, entry.column);
  }
  return matched;
}

function containsAll(haystack: readonly string[], needles: readonly string[]): boolean {
  return needles.length > 0 && needles.every((needle) => haystack.includes(needle));
}
