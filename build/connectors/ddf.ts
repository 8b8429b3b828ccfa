/**
 * DDFcsv, the format of Gapminder and of the data sets that Open Numbers keeps in it (IMF, UNDP and others).
 *
 * A `datapackage.json` lists every file. Concepts say what a series is; a datapoint file keyed by exactly place and
 * year holds the figures of one series, or of several in columns. Files by other keys (gender, income group, the world)
 * are other statistics and are left alone, and so are concepts that are not measures: texts and drawings in a table of
 * figures. Files are streamed; several files of one series are read as one.
 */

import { z } from 'zod';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { Connector, ConnectorContext, RawObservation, SourceItem } from './connector.ts';
import { columnIndex, openCsv } from './csv.ts';
import { plainText } from './plain-text.ts';
import { readParts } from './provider-parts.ts';

/** What a provider definition may say of a DDFcsv data set. */

const names = z.union([z.string(), z.array(z.string()).min(1)]).transform((value) => [value].flat());
/** Names of concept properties; the first that a concept fills is taken. */
const property = z.array(z.string()).min(1);

export const ddfSettings = z.strictObject({
  datapackage: z.string().default('datapackage.json'),
  /**
   * The key columns with places and years. Several names where files differ: a data set may key some by `country` and
   * some by the `geo` that countries are a set of. A file is keyed by one of them.
   */
  geo: names.default(['geo']),
  time: names.default(['time']),
  /** Only datapoint files keyed by exactly these are series, in any order. Default: one place and one year. */
  by: z.array(z.string()).min(2).optional(),
  /** Texts that mean a published gap; an empty cell always does. */
  missing: z.array(z.string()).default([]),
  /** Series to leave out, by concept. */
  exclude: z.array(z.string()).default([]),
  /** Where a concept's properties are. */
  concept: z
    .strictObject({
      name: property.default(['name', 'subject_descriptor', 'name_short']),
      description: property.default(['description', 'description_long', 'subject_notes']),
      unit: property.default(['unit']),
      /** A factor in words (`Billions`) that belongs to the unit. */
      scale: property.default(['scale']),
      source: property.default(['source', 'source_long']),
      source_url: property.default(['source_url', 'indicator_url']),
      tags: property.default(['tags']),
      licence: property.default(['licence', 'license']),
    })
    .prefault({}),
  /** A table that gives the last actual year of a place and series; what comes later is a projection. */
  notes: z
    .strictObject({
      path: z.string(),
      geo: z.string().optional(),
      concept: z.string().default('concept'),
      last_actual: z.string().default('estimates_start_after'),
    })
    .optional(),
});
export type DdfSettings = z.infer<typeof ddfSettings>;

/**
 * The catalogue of a DDFcsv data set: which files its data package lists, and what its concepts say of each series.
 */

const dataPackage = z.looseObject({
  version: z.string().optional(),
  created: z.string().optional(),
  resources: z.array(
    z.looseObject({
      path: z.string(),
      schema: z.looseObject({
        fields: z.array(z.looseObject({ name: z.string() })),
        primaryKey: z.union([z.string(), z.array(z.string())]),
      }),
    }),
  ),
});

/** One datapoint file: its key columns and the columns with figures. */
export interface DatapointFile {
  path: string;
  values: string[];
}

export interface DdfPackage {
  vintage: string | null;
  /** Files with concepts, below the provider's base. */
  concepts: string[];
  /** Files keyed by exactly the definition's `by`. */
  datapoints: DatapointFile[];
}

/** The data set's layout is not DDFcsv. */
export class DdfLayoutError extends Error {
  override name = 'DdfLayoutError';
}

/** @throws {DdfLayoutError} when the package lists no concepts or no datapoints by the wanted key. */
export async function readDdfPackage(upstream: Upstream, settings: DdfSettings): Promise<DdfPackage> {
  const parsed = dataPackage.safeParse(parseJson(await upstream.text(settings.datapackage)));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new DdfLayoutError(`${settings.datapackage}: ${issue?.path.join('.')}: ${issue?.message}`);
  }
  const { geo, time, by } = settings;
  const isWanted = (key: readonly string[]): boolean =>
    by ? sorted(by) === sorted(key) : key.length === 2 && has(key, geo) && has(key, time);
  const keyOf = (key: string | string[]): string[] => (typeof key === 'string' ? [key] : key);
  const { version, created, resources } = parsed.data;
  const concepts = resources.filter(({ schema }) => keyOf(schema.primaryKey).join() === 'concept');
  const datapoints = resources
    .filter(({ schema }) => isWanted(keyOf(schema.primaryKey)))
    .map(({ path, schema }) => {
      const key = keyOf(schema.primaryKey);
      return { path, values: schema.fields.map((field) => field.name).filter((name) => !key.includes(name)) };
    });
  if (concepts.length === 0) throw new DdfLayoutError(`${settings.datapackage} lists no concepts`);
  if (datapoints.length === 0) {
    throw new DdfLayoutError(
      `${settings.datapackage} lists no datapoints by ${by?.join(', ') ?? [geo, time].map((names) => names.join(' or ')).join(', ')}`,
    );
  }
  return {
    vintage: [version, created].filter(Boolean).join(', ') || null,
    concepts: concepts.map(({ path }) => path),
    datapoints,
  };
}

const sorted = (key: readonly string[]): string => key.toSorted().join();
const has = (key: readonly string[], names: readonly string[]): boolean =>
  names.some((name) => key.includes(name));

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
}

export type Concept = Record<string, string>;

/** A DDF path is a file path; a reference is a relative URL. */
export const referenceOf = (path: string): string => path.split('/').map(encodeURIComponent).join('/');

/** All concepts by id. */
export async function readConcepts(
  upstream: Upstream,
  paths: readonly string[],
): Promise<Map<string, Concept>> {
  const concepts = new Map<string, Concept>();
  for (const path of paths) {
    const { header, batches } = await openCsv(await upstream.stream(referenceOf(path)));
    for await (const batch of batches) {
      for (const cells of batch) {
        const concept = Object.fromEntries(header.map((name, index) => [name, cells[index] ?? '']));
        if (concept.concept) concepts.set(concept.concept, { ...concepts.get(concept.concept), ...concept });
      }
    }
  }
  return concepts;
}

function firstFilled(concept: Concept, names: readonly string[]): string | null {
  for (const name of names) {
    const text = concept[name]?.trim();
    if (text) return text;
  }
  return null;
}

/** Percent is the one format that names a unit. */
function unitOf(concept: Concept, settings: DdfSettings): string | null {
  const unit = firstFilled(concept, settings.concept.unit);
  const scale = firstFilled(concept, settings.concept.scale);
  if (unit && scale && scale.toLowerCase() !== 'units') return `${unit}, ${scale.toLowerCase()}`;
  return unit ?? (concept.format === 'percent' ? '%' : null);
}

/**
 * Catalogue entries of the series, by concept. Where several series share a name, their units tell them apart
 * (the IMF's "Gross domestic product, constant prices" is an amount, an index and a growth rate).
 */
export function entriesOf(
  series: readonly string[],
  concepts: ReadonlyMap<string, Concept>,
  settings: DdfSettings,
): Map<string, CatalogueEntry> {
  const entries = series.map((slug): CatalogueEntry => {
    const concept = concepts.get(slug) ?? {};
    const pick = (names: readonly string[]): string | null => firstFilled(concept, names);
    const tags = pick(settings.concept.tags)?.split(',') ?? [];
    return {
      slug,
      name: plainText(pick(settings.concept.name)) ?? slug,
      description: plainText(pick(settings.concept.description)),
      unit: unitOf(concept, settings),
      source: plainText(pick(settings.concept.source)),
      source_url: pick(settings.concept.source_url),
      tags: tags.map((tag) => tag.trim()).filter((tag) => tag !== '' && tag !== '_none'),
      licence: pick(settings.concept.licence),
    };
  });
  const count = new Map<string, number>();
  for (const { name } of entries) count.set(name, (count.get(name) ?? 0) + 1);
  return new Map(
    entries.map((entry) => {
      const shared = (count.get(entry.name) ?? 0) > 1 && entry.unit !== null;
      return [entry.slug, shared ? { ...entry, name: `${entry.name} (${entry.unit})` } : entry];
    }),
  );
}

type Context = ConnectorContext<DdfSettings>;

/** The files that hold one series. */
interface Series {
  slug: string;
  files: DatapointFile[];
}

/** By place and series: the last year that is an actual figure. */
type LastActual = ReadonlyMap<string, number>;
const boundaryKey = (place: string, slug: string): string => `${place}\n${slug}`;

/** A year that upstream really gives; blanks and the zero that stands for "unknown" are none. */
function boundaryYear(text: string): number | null {
  const year = Number(text.trim());
  return text.trim() !== '' && Number.isInteger(year) && year > 0 ? year : null;
}

async function readNotes(context: Context): Promise<LastActual> {
  const { notes, geo } = context.settings;
  const years = new Map<string, number>();
  if (!notes) return years;
  const { header, batches } = await openCsv(await context.upstream.stream(referenceOf(notes.path)));
  const place = keyColumn(header, notes.geo === undefined ? geo : [notes.geo]);
  const concept = columnIndex(header, notes.concept);
  const last = columnIndex(header, notes.last_actual);
  for await (const batch of batches) {
    for (const cells of batch) {
      const year = boundaryYear(cells[last] ?? '');
      if (year !== null) years.set(boundaryKey(cells[place] ?? '', cells[concept] ?? ''), year);
    }
  }
  return years;
}

/** The column of the first name that the header has. @throws {CsvError} naming the columns when it has none. */
const keyColumn = (header: readonly string[], names: readonly string[]): number =>
  columnIndex(header, names.find((name) => header.includes(name)) ?? names[0] ?? '');

/** Turns cells into raw observations of one series. */
class RowReader {
  readonly #columns: { place: number; year: number; value: number };
  readonly #missing: ReadonlySet<string>;
  readonly #lastActual: LastActual;
  readonly #slug: string;

  constructor(header: readonly string[], slug: string, settings: DdfSettings, lastActual: LastActual) {
    this.#columns = {
      place: keyColumn(header, settings.geo),
      year: keyColumn(header, settings.time),
      value: columnIndex(header, slug),
    };
    this.#missing = new Set(settings.missing);
    this.#lastActual = lastActual;
    this.#slug = slug;
  }

  read(cells: readonly string[]): RawObservation {
    const place = cells[this.#columns.place] ?? '';
    const year = cells[this.#columns.year] ?? '';
    const text = cells[this.#columns.value] ?? '';
    const value = text === '' || this.#missing.has(text.trim()) ? null : text;
    const last =
      this.#lastActual.size === 0 ? undefined : this.#lastActual.get(boundaryKey(place, this.#slug));
    return last === undefined
      ? { place, year, value }
      : { place, year, value, projected: Number(year) > last };
  }
}

async function* readSeries(
  context: Context,
  { slug, files }: Series,
  lastActual: LastActual,
): AsyncGenerator<SourceItem, void, undefined> {
  for (const { path } of files) {
    const { header, batches } = await openCsv(await context.upstream.stream(referenceOf(path)));
    const reader = new RowReader(header, slug, context.settings, lastActual);
    for await (const batch of batches) {
      context.signal.throwIfAborted();
      yield { kind: 'observations', slug, rows: batch.map((cells) => reader.read(cells)) };
    }
  }
}

/** The series of a package in the order of its files. */
function seriesOf(files: readonly DatapointFile[], isWanted: (concept: string) => boolean): Series[] {
  const bySlug = new Map<string, Series>();
  for (const file of files) {
    for (const slug of file.values.filter(isWanted)) {
      const series = bySlug.get(slug) ?? { slug, files: [] };
      series.files.push(file);
      bySlug.set(slug, series);
    }
  }
  return [...bySlug.values()];
}

export const ddf: Connector<DdfSettings> = {
  protocol: 'ddf',
  settings: ddfSettings,
  async *read(context) {
    const { settings, upstream } = context;
    const found = await readDdfPackage(upstream, settings);
    if (found.vintage) yield { kind: 'vintage', vintage: found.vintage };
    const concepts = await readConcepts(upstream, found.concepts);
    const isMeasure = (concept: string): boolean =>
      concepts.get(concept)?.concept_type === 'measure' && !settings.exclude.includes(concept);
    const series = seriesOf(found.datapoints, isMeasure);
    const entries = entriesOf(
      series.map((one) => one.slug),
      concepts,
      settings,
    );
    yield { kind: 'plan', indicators: series.length };
    const lastActual = await readNotes(context);
    yield* readParts<Series, Series>(context, series, {
      slug: (one) => one.slug,
      slugs: (one) => [one.slug],
      open: async (one) => one,
      async *read(one) {
        const entry = entries.get(one.slug);
        if (entry) yield { kind: 'indicator', entry };
        yield* readSeries(context, one, lastActual);
      },
    });
  },
};
