/**
 * DDFcsv, the format of Gapminder and of the data sets that Open Numbers keeps in it (IMF, UNDP and others).
 *
 * A `datapackage.json` lists every file. Concepts say what a series is; a datapoint file keyed by exactly place and
 * year holds the figures of one series, or of several in columns. Files by other keys (gender, income group, the world)
 * are other statistics and are left alone, and so are concepts that are not measures: texts and drawings in a table of
 * figures. Files are streamed; several files of one series are read as one.
 */
import type { Connector, ConnectorContext, RawObservation, SourceItem } from './connector.ts';
import { columnIndex, openCsv } from './csv-rows.ts';
import { type DatapointFile, entriesOf, readConcepts, readDdfPackage, referenceOf } from './ddf-package.ts';
import { type DdfSettings, ddfSettings } from './ddf-settings.ts';
import { readParts } from './provider-parts.ts';

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
