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
import { columnPartners, pairColumns, pattern, rolePatterns, type WideSeries } from './column-roles.ts';
import type { Connector, ConnectorContext, SourceItem } from './connector.ts';
import { type CsvTable, openCsv } from './csv-rows.ts';
import {
  type GrapherColumn,
  type GrapherMetadata,
  grapherMetadata,
  matchColumns,
} from './grapher-metadata.ts';
import { plainText, slugOf } from './plain-text.ts';
import { readParts } from './provider-parts.ts';
import { readWideTable } from './wide-table.ts';

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
  const base = chart.settings.slug ?? slugOf(chart.settings.chart);
  const slug = chart.settings.columns[one.column]?.slug ?? (alone ? base : `${base}-${slugOf(one.column)}`);
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
      slug: (settings) => settings.slug ?? slugOf(settings.chart),
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
