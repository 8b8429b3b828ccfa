/**
 * Our World in Data's grapher: one CSV file and one `.metadata.json` per chart.
 *
 * A chart is `Entity,Code,Year` and a column per series. `Code` is ISO 3166-1 alpha-3 or `OWID_…`; it is empty for many
 * regions, and then the entity's name counts. Forecast and bound columns join their series; names, units and credits come
 * from the metadata. An unreadable chart fails alone; the provider fails when none is readable.
 *
 * Slugs: a chart with one series is that series (`child-mortality`); each of several is `<chart>-<column>`.
 */
import { z } from 'zod';
import { regexSource } from '../../data/schema/curated.ts';
import type { CatalogueEntry, NamedSource } from '../../data/schema/lake.ts';
import {
  type Connector,
  type ConnectorContext,
  listOf,
  readJson,
  readParts,
  type SourceItem,
} from './connector.ts';
import { openCsv } from './csv.ts';
import { listedSources, plainText, sourceFields, toSlug } from './plain-text.ts';
import { columnPartners, pairColumns } from './table-columns.ts';
import { emptyCells, readWideTable, toSourceItems } from './table-reader.ts';

const columnSettings = columnPartners.extend({
  slug: z.string().optional(),
  /** The key of the metadata entry, where `matchColumns` does not find it. */
  metadata: z.string().optional(),
  skip: z.boolean().default(false),
});

const chartSettings = z.strictObject({
  /** The chart's name in its URL. */
  chart: z.string(),
  /** The first half of its slugs; default: the chart's name. */
  slug: z.string().optional(),
  /** Subject words, for the rules of the definition. */
  tags: z.array(z.string()).default([]),
  /** By CSV header. */
  columns: z.record(z.string(), columnSettings).default({}),
});
type ChartSettings = z.infer<typeof chartSettings>;

const grapherSettings = z.strictObject({
  charts: listOf(chartSettings, 'chart'),
  /** References of a chart's two files, with `{chart}` for its name. */
  csv: z.string().default('{chart}.csv?v=1&csvType=full&useColumnShortNames=false'),
  metadata: z.string().default('{chart}.metadata.json?v=1&csvType=full&useColumnShortNames=false'),
  /** The chart's web page. */
  page: z.string().default('https://ourworldindata.org/grapher/{chart}'),
  place: z.array(z.string()).default(['Code', 'Entity']),
  year: z.string().default('Year'),
  /** Extracts the year from its cells: a regular expression with one group, such as `^(\d{4})-01-01$` for a `Day`. */
  year_pattern: regexSource.optional(),
  missing: z.array(z.string()).default([]),
  /** What an empty cell means. */
  empty: emptyCells.default('layout'),
});
type GrapherSettings = z.infer<typeof grapherSettings>;
type Context = ConnectorContext<GrapherSettings>;

const text = z.string().nullish();
const licence = z.looseObject({ name: text }).nullish();
const grapherColumn = z.looseObject({
  titleShort: text,
  titleLong: text,
  shortName: text,
  descriptionShort: text,
  descriptionKey: z.union([z.string(), z.array(z.string())]).nullish(),
  unit: text,
  shortUnit: text,
  lastUpdated: text,
  citationShort: text,
  origins: z.array(z.looseObject({ license: licence })).nullish(),
  license: licence,
});
type GrapherColumn = z.infer<typeof grapherColumn>;

const grapherMetadata = z.looseObject({
  chart: z.looseObject({ title: text, subtitle: text, citation: text }).prefault({}),
  columns: z.record(z.string(), grapherColumn),
});
type GrapherMetadata = z.infer<typeof grapherMetadata>;

const normalise = (name: string): string => name.trim().replaceAll(/\s+/g, ' ').toLowerCase();
const splitWords = (name: string): string[] => name.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** The name without the column's unit in brackets at the end. */
function stripUnit(name: string, { unit, shortUnit }: GrapherColumn): string {
  const bracket = /\s*\(([^()]*)\)$/.exec(name);
  const inside = normalise(bracket?.[1] ?? '');
  const isUnit = [unit, shortUnit].some((one) => one && inside.startsWith(normalise(one)));
  return bracket && isUnit ? name.slice(0, bracket.index) : name;
}

/**
 * Maps CSV headers to metadata entries; headers without one are absent.
 *
 * The CSV is headed by display names and the metadata by variable names, which rarely agree. In order of precedence:
 * 1. a header that equals an entry's key, short name, short title or long title, ignoring case, spaces and a unit in
 *    brackets;
 * 2. by position, when there are as many columns as entries and every match by name is at its own position;
 * 3. the only unclaimed entry whose names contain all words of the header.
 * Otherwise the header has no metadata: a wrong unit is worse than none.
 */
export function matchColumns(
  headers: readonly string[],
  columns: GrapherMetadata['columns'],
): Map<string, GrapherColumn> {
  const entries = Object.entries(columns).map(([key, column]) => {
    const names = [key, column.shortName, column.titleShort, column.titleLong].filter((name) => !!name);
    return { column, names: names.flatMap((name) => (name ? [name, stripUnit(name, column)] : [])) };
  });
  const matched = new Map<string, GrapherColumn>();
  const taken = new Set<GrapherColumn>();
  const take = (header: string, column: GrapherColumn): void => {
    matched.set(header, column);
    taken.add(column);
  };
  let isInOrder = headers.length === entries.length;
  for (const [index, header] of headers.entries()) {
    const found = entries.findIndex(({ names }) =>
      names.some((name) => normalise(name) === normalise(header)),
    );
    const entry = entries[found];
    if (!entry) continue;
    take(header, entry.column);
    isInOrder &&= found === index;
  }
  const unclaimed = entries.filter((entry) => !taken.has(entry.column));
  for (const [index, header] of headers.entries()) {
    if (matched.has(header)) continue;
    const wanted = splitWords(header);
    const containing = unclaimed.filter(({ names }) =>
      names.some((name) => wanted.length > 0 && wanted.every((word) => splitWords(name).includes(word))),
    );
    const entry = isInOrder ? entries[index] : containing.length === 1 ? containing[0] : undefined;
    if (entry && !taken.has(entry.column)) take(header, entry.column);
  }
  return matched;
}

const expandTemplate = (template: string, chart: string): string =>
  template.replaceAll('{chart}', encodeURIComponent(chart));

function buildDescription(column: GrapherColumn | undefined, chart: GrapherMetadata['chart']): string | null {
  const parts = [column?.descriptionShort ?? chart.subtitle, column?.descriptionKey ?? []].flat();
  return plainText(parts.filter((part) => part).join('\n\n'));
}

/** The distinct licence names that the metadata states. */
function joinLicences(column: GrapherColumn | undefined): string | null {
  const stated = [column?.license?.name, ...(column?.origins ?? []).map((origin) => origin.license?.name)];
  return [...new Set(stated.filter((name) => name))].join('; ') || null;
}

/** `Ember (2026); UN (2024) – with major processing by Our World in Data` */
function citedSources(citation: string | null | undefined, url: string): NamedSource[] {
  const [, cited = citation ?? null] =
    /^(.*?)\s+[–-]\s+(?:with \w+ processing|processed) by .*$/s.exec(citation ?? '') ?? [];
  return listedSources(cited, url);
}

/** @param isOnly whether the chart has no other series */
function buildEntry(
  page: string,
  settings: ChartSettings,
  metadata: GrapherMetadata,
  header: string,
  column: GrapherColumn | undefined,
  isOnly: boolean,
): CatalogueEntry {
  const base = settings.slug ?? toSlug(settings.chart);
  return {
    slug: settings.columns[header]?.slug ?? (isOnly ? base : `${base}-${toSlug(header)}`),
    name: plainText(column?.titleShort ?? (isOnly ? metadata.chart.title : header)) ?? header,
    description: buildDescription(column, metadata.chart),
    unit: plainText(column?.unit ?? column?.shortUnit),
    ...sourceFields(
      citedSources(column?.citationShort ?? metadata.chart.citation, expandTemplate(page, settings.chart)),
    ),
    tags: [settings.chart, ...settings.tags],
    licence: joinLicences(column),
  };
}

async function openChart({ settings: all, upstream, signal }: Context, settings: ChartSettings) {
  const metadata = grapherMetadata.parse(
    await readJson(upstream, expandTemplate(all.metadata, settings.chart)),
  );
  const reference = expandTemplate(all.csv, settings.chart);
  const table = await openCsv(await upstream.stream(reference), { delimiter: ',' });
  const { place, year, year_pattern: yearPattern, missing, empty } = all;
  const keys = new Set([...place, year, 'Entity', 'Code', 'Year', 'Day']);
  const columns = table.header.filter((name) => !keys.has(name));
  const used = columns.filter((name) => !settings.columns[name]?.skip);
  const series = pairColumns(used, settings.columns);
  // Also by columns that are not used.
  const isWide = pairColumns(columns, settings.columns).length > 1;
  const matched = matchColumns(columns, metadata.columns);
  const entries = series.map(({ column: header }) => {
    const key = settings.columns[header]?.metadata;
    const column = key === undefined ? matched.get(header) : metadata.columns[key];
    return buildEntry(all.page, settings, metadata, header, column, series.length === 1);
  });
  async function* items(): AsyncIterable<SourceItem> {
    for (const { lastUpdated } of Object.values(metadata.columns))
      if (lastUpdated) yield { kind: 'vintage', vintage: lastUpdated };
    const batches = readWideTable(table, series, {
      place,
      year,
      yearPattern,
      missing,
      empty,
      isWide,
      signal,
    });
    yield* toSourceItems(batches, (index) => entries[index], [reference]);
  }
  return { slugs: entries.map((entry) => entry.slug), items: items() };
}

export const owidGrapher: Connector<GrapherSettings> = {
  protocol: 'owid-grapher',
  settings: grapherSettings,
  read: (context) =>
    readParts(
      context,
      context.settings.charts,
      (settings) => settings.slug ?? toSlug(settings.chart),
      (settings) => openChart(context, settings),
    ),
};
