/**
 * DDFcsv, the format of Gapminder and of the data sets that Open Numbers converts (IMF, UNDP and others).
 *
 * A `datapackage.json` lists all files. Concepts describe the series. A datapoint file keyed by exactly place and year
 * holds the figures of one series, or of several in columns; files with other keys (gender, income group, the world) and
 * concepts that are not measures are ignored. Files are streamed; several files of one series are read as one. A missing
 * value is a published gap, but blank where the row holds values of other series.
 */
import { z } from 'zod';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import { encodePath, type Upstream } from '../upstream/upstream.ts';
import {
  type Connector,
  type ConnectorContext,
  type RawObservation,
  ResponseError,
  readJsonAs,
  readParts,
  type SourceItem,
  textList,
} from './connector.ts';
import { columnIndex, openCsv, readCsvRecords } from './csv.ts';
import { listedSources, plainText, sourceFields } from './plain-text.ts';
import { readWideTable } from './table-reader.ts';

/** Names of concept properties; the first that is filled counts. */
const property = z.array(z.string()).min(1);

const ddfSettings = z.strictObject({
  datapackage: z.string().default('datapackage.json'),
  /**
   * The key columns with places and years. Several names where files differ: a data set may key some by `country` and
   * some by `geo`. Each file is keyed by one of them.
   */
  geo: textList.default(['geo']),
  time: textList.default(['time']),
  /** Only datapoint files keyed by exactly these, in any order, are series. Default: one place and one year. */
  by: z.array(z.string()).min(2).optional(),
  /** Texts that mean a published gap; an empty cell always does. */
  missing: z.array(z.string()).default([]),
  /** Concepts of series to leave out. */
  exclude: z.array(z.string()).default([]),
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
  /** A table with the last actual year of a place and series; later years are projections. */
  notes: z
    .strictObject({
      path: z.string(),
      geo: z.string().optional(),
      concept: z.string().default('concept'),
      last_actual: z.string().default('estimates_start_after'),
    })
    .optional(),
});
type DdfSettings = z.infer<typeof ddfSettings>;
type Context = ConnectorContext<DdfSettings>;

export const ddfPackage = z.looseObject({
  version: z.string().optional(),
  created: z.string().optional(),
  resources: z.array(
    z.looseObject({
      path: z.string(),
      schema: z.looseObject({
        fields: z.array(z.looseObject({ name: z.string() })),
        primaryKey: z.union([z.string(), z.array(z.string())]).transform((key) => [key].flat()),
      }),
    }),
  ),
});

/** A datapoint file and its value columns. */
interface DatapointFile {
  path: string;
  values: string[];
}

interface DdfPackage {
  vintage: string | null;
  /** Paths of the files with concepts. */
  concepts: string[];
  /** The files keyed by exactly the definition's `by`. */
  datapoints: DatapointFile[];
}

/** @throws {ResponseError} when the package lists no concepts, or no datapoints with the wanted key. */
async function readDdfPackage(upstream: Upstream, settings: DdfSettings): Promise<DdfPackage> {
  const { datapackage, geo, time, by } = settings;
  const { version, created, resources } = await readJsonAs(upstream, datapackage, ddfPackage);
  const isWanted = (key: readonly string[]): boolean =>
    by
      ? by.toSorted().join() === key.toSorted().join()
      : key.length === 2 && [geo, time].every((names) => names.some((name) => key.includes(name)));
  const concepts = resources.filter(({ schema }) => schema.primaryKey.join() === 'concept');
  const datapoints = resources
    .filter(({ schema }) => isWanted(schema.primaryKey))
    .map(({ path, schema: { fields, primaryKey } }) => ({
      path,
      values: fields.map((field) => field.name).filter((name) => !primaryKey.includes(name)),
    }));
  if (concepts.length === 0) throw new ResponseError(`${datapackage} lists no concepts`);
  if (datapoints.length === 0) {
    const key = by ?? [geo, time].map((names) => names.join(' or '));
    throw new ResponseError(`${datapackage} lists no datapoints by ${key.join(', ')}`);
  }
  return {
    vintage: [version, created].filter(Boolean).join(', ') || null,
    concepts: concepts.map(({ path }) => path),
    datapoints,
  };
}

type Concept = Record<string, string>;

/** All concepts by id. */
async function readConcepts(upstream: Upstream, paths: readonly string[]): Promise<Map<string, Concept>> {
  const concepts = new Map<string, Concept>();
  for (const path of paths) {
    for await (const record of readCsvRecords(await upstream.stream(encodePath(path)))) {
      const { concept: id } = record;
      if (id) concepts.set(id, { ...concepts.get(id), ...record });
    }
  }
  return concepts;
}

const firstFilled = (concept: Concept, names: readonly string[]): string | null =>
  names.map((name) => concept[name]?.trim()).find((text) => text) ?? null;

/** The unit with its scale. Only the format `percent` implies a unit. */
function findUnit(concept: Concept, settings: DdfSettings): string | null {
  const unit = firstFilled(concept, settings.concept.unit);
  const scale = firstFilled(concept, settings.concept.scale);
  if (unit && scale && scale.toLowerCase() !== 'units') return `${unit}, ${scale.toLowerCase()}`;
  return unit ?? (concept.format === 'percent' ? '%' : null);
}

/**
 * Catalogue entries. Series with the same name are distinguished by their units: the IMF's "Gross domestic
 * product, constant prices" is an amount, an index and a growth rate.
 */
function buildEntries(
  slugs: readonly string[],
  concepts: ReadonlyMap<string, Concept>,
  settings: DdfSettings,
): CatalogueEntry[] {
  const entries = slugs.map((slug): CatalogueEntry => {
    const concept = concepts.get(slug) ?? {};
    const pick = (names: readonly string[]): string | null => firstFilled(concept, names);
    const tags = pick(settings.concept.tags)?.split(',') ?? [];
    return {
      slug,
      name: plainText(pick(settings.concept.name)) ?? slug,
      description: plainText(pick(settings.concept.description)),
      unit: findUnit(concept, settings),
      ...sourceFields(listedSources(pick(settings.concept.source), pick(settings.concept.source_url))),
      tags: tags.map((tag) => tag.trim()).filter((tag) => tag !== '' && tag !== '_none'),
      licence: pick(settings.concept.licence),
    };
  });
  const byName = Map.groupBy(entries, (entry) => entry.name);
  return entries.map((entry) => {
    const isShared = (byName.get(entry.name)?.length ?? 0) > 1 && entry.unit !== null;
    return isShared ? { ...entry, name: `${entry.name} (${entry.unit})` } : entry;
  });
}

const ACTUAL = { projected: false } as const;
/** The table of last actual years tells where estimates start. */
const ESTIMATED = { projected: true, status: 'estimated' } as const;

/** The last actual year by place and series. */
type LastActualYears = ReadonlyMap<string, number>;
const lastActualKey = (place: string, slug: string): string => `${place}\n${slug}`;

async function readLastActualYears(context: Context): Promise<LastActualYears> {
  const { notes, geo } = context.settings;
  const years = new Map<string, number>();
  if (!notes) return years;
  const { header, batches } = await openCsv(await context.upstream.stream(encodePath(notes.path)));
  const place = columnIndex(header, keyColumn(header, notes.geo === undefined ? geo : [notes.geo]));
  const concept = columnIndex(header, notes.concept);
  const last = columnIndex(header, notes.last_actual);
  for await (const batch of batches) {
    for (const cells of batch) {
      // Blank and 0 mean that upstream does not know the year.
      const year = Number(cells[last]);
      if (Number.isInteger(year) && year > 0)
        years.set(lastActualKey(cells[place] ?? '', cells[concept] ?? ''), year);
    }
  }
  return years;
}

/** The first of the names that is in the header; the first of all where none is. */
const keyColumn = (header: readonly string[], names: readonly string[]): string =>
  names.find((name) => header.includes(name)) ?? names[0] ?? '';

/** Reads one series from the files that hold it. */
async function* readSeries(
  { settings, upstream, signal }: Context,
  entry: CatalogueEntry,
  files: readonly DatapointFile[],
  lastActualYears: LastActualYears,
): AsyncIterable<SourceItem> {
  yield { kind: 'indicator', entry };
  const { slug } = entry;
  const { notes, missing, geo, time } = settings;
  const flag = (row: RawObservation): RawObservation => {
    const last = lastActualYears.get(lastActualKey(row.place, slug));
    return last === undefined ? row : { ...row, ...(Number(row.year) > last ? ESTIMATED : ACTUAL) };
  };
  for (const { path, values } of files) {
    const reference = encodePath(path);
    const table = await openCsv(await upstream.stream(reference));
    const keys = { place: [keyColumn(table.header, geo)], year: keyColumn(table.header, time) };
    const options = { ...keys, missing, empty: 'layout', isWide: values.length > 1, signal } as const;
    for await (const { rows } of readWideTable(table, [{ column: slug, value: slug }], options)) {
      yield notes
        ? { kind: 'observations', slug, rows: rows.map(flag), files: [reference, encodePath(notes.path)] }
        : { kind: 'observations', slug, rows, files: [reference] };
    }
  }
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
    const columns = found.datapoints.flatMap((file) =>
      file.values.filter(isMeasure).map((slug) => ({ slug, file })),
    );
    const files = Map.groupBy(columns, ({ slug }) => slug);
    const entries = buildEntries([...files.keys()], concepts, settings);
    yield { kind: 'plan', indicators: entries.length };
    const lastActualYears = await readLastActualYears(context);
    yield* readParts(
      context,
      entries,
      ({ slug }) => slug,
      async (entry) => {
        const of = (files.get(entry.slug) ?? []).map(({ file }) => file);
        return { items: readSeries(context, entry, of, lastActualYears) };
      },
    );
  },
};
