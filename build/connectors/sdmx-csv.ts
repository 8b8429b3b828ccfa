/**
 * SDMX-CSV 1.0 and 2.0, as statistical offices and UN agencies serve it.
 *
 * A message has a row per observation and a column per dimension, measure and attribute. The definition names the
 * dimensions that identify a series and pins the others to a code; a dimension that is not pinned but has a code for the
 * whole population (`_T`) is pinned to that. Rows for other parts of the population are marked, for ingestion to count.
 * A series whose remaining rows differ in unit or power of ten fails, and the reason says what to pin. The rows of a
 * series are gathered over all files, because services order by country.
 */
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import { describeError } from '../runtime/errors.ts';
import { type Connector, type ConnectorContext, readParts, type SourceItem } from './connector.ts';
import { CsvError, openCsv } from './csv.ts';
import { citedSource, plainText, sourceFields, toSlug } from './plain-text.ts';
import {
  createSdmxReader,
  type SdmxFile,
  type SdmxReader,
  type SdmxRow,
  type SdmxSettings,
  type SeriesLabels,
  sdmxDelimiter,
  sdmxSettings,
} from './sdmx-message.ts';
import { SeriesSpool } from './table-reader.ts';

type Context = ConnectorContext<SdmxSettings>;

interface Series extends Pick<SeriesLabels, 'slug' | 'key' | 'name' | 'tags'> {
  /** Names of units by code. */
  units: Map<string, string | null>;
  /** The codes of each open dimension. */
  codes: Map<string, Set<string>>;
  /** Who collected the figures. */
  sources: Set<string>;
  /** References of the files with rows that pass the pins. */
  files: Set<string>;
}

/** Codes remembered per dimension; more than that is not a breakdown of the population. */
const MAX_CODES = 1_000;
/** Sources named per series; more are surveys of single countries. */
const MAX_SOURCES = 20;
const SCALES: Record<string, string> = { 3: 'thousands', 6: 'millions', 9: 'billions', 12: 'trillions' };

/** The rows of all files by series. */
class SeriesCollector {
  readonly series = new Map<string, Series>();
  readonly spool = new SeriesSpool<string, SdmxRow>();
  /** The pinned dimensions that any file has. */
  readonly pinned = new Set<string>();
  /** Reasons of incomplete series: a file that holds part of them was damaged. */
  readonly failures = new Map<string, string>();
  vintage: string | null = null;

  [Symbol.asyncDispose](): Promise<void> {
    return this.spool[Symbol.asyncDispose]();
  }

  /** Adds the rows of one file. @throws {CsvError} when it is not SDMX-CSV of the expected structure. */
  async addFile({ settings, upstream, signal }: Context, file: SdmxFile): Promise<void> {
    const table = await openCsv(await upstream.stream(file.path), { delimiter: sdmxDelimiter });
    const reader = createSdmxReader(table.header, settings, file);
    for (const id of reader.pinnedIds) this.pinned.add(id);
    const touched = new Set<string>();
    try {
      for await (const batch of table.batches) {
        signal.throwIfAborted();
        this.vintage ??= reader.readVintage(batch[0] ?? []);
        for (const cells of batch) this.#addRow(reader, cells, file.path, touched);
        await this.spool.spill();
      }
    } catch (error) {
      const reason = describeError(error);
      for (const slug of touched) this.failures.set(slug, reason);
      throw error;
    }
  }

  #addRow(reader: SdmxReader, cells: readonly string[], file: string, touched: Set<string>): void {
    const row = reader.read(cells);
    if (row === null) return;
    const { slug, key, name, unit, tags, source } = reader.readLabels(cells);
    touched.add(slug);
    const series = this.series.get(slug) ?? {
      slug,
      key,
      name,
      tags,
      units: new Map(),
      codes: new Map(),
      sources: new Set(),
      files: new Set(),
    };
    this.series.set(slug, series);
    if (series.key !== key)
      this.failures.set(slug, `${series.key} and ${key} would both be called "${slug}"`);
    if (!series.units.has(row.unit)) series.units.set(row.unit, unit);
    this.spool.add(slug, row);
    if (row.observation.other_dimension !== undefined) return;
    series.files.add(file);
    if (source !== null && series.sources.size < MAX_SOURCES) series.sources.add(source);
    for (const [id, code] of Object.entries(row.codes)) {
      const known = series.codes.get(id) ?? new Set();
      if (known.size < MAX_CODES) series.codes.set(id, known.add(code));
    }
  }
}

/** The codes for the whole population by open dimension of a series. */
function findTotals(series: Series, totals: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const [id, codes] of series.codes) {
    const total = totals.find((code) => codes.has(code));
    if (total !== undefined && codes.size > 1) found.set(id, total);
  }
  return found;
}

/** The part of the population a row is for, such as `SEX=F`; null when the definition takes it. */
function findOtherDimension(row: SdmxRow, totals: ReadonlyMap<string, string>): string | null {
  if (row.observation.other_dimension !== undefined) return row.observation.other_dimension;
  const other = Object.entries(row.codes).find(([id, code]) => (totals.get(id) ?? code) !== code);
  return other ? other.join('=') : null;
}

/** The unit of the remaining rows. @throws {CsvError} when they differ in unit or power of ten. */
async function findUnit(
  { spool }: SeriesCollector,
  series: Series,
  totals: ReadonlyMap<string, string>,
): Promise<string | null> {
  const units = new Set<string>();
  const powers = new Set<number>();
  for await (const rows of spool.read(series.slug)) {
    for (const row of rows.filter((one) => findOtherDimension(one, totals) === null)) {
      units.add(row.unit);
      powers.add(row.power);
    }
  }
  if (units.size > 1) {
    throw new CsvError(`several units (${[...units].join(', ')}): pin the unit's dimension to one`);
  }
  const unit = series.units.get(units.values().next().value ?? '') ?? null;
  if (powers.size > 1) {
    throw new CsvError(`several powers of ten (${[...powers].join(', ')}): pin one`);
  }
  const power = powers.values().next().value ?? 0;
  if (power === 0) return unit;
  const scaleName = SCALES[power] ?? `10^${power}`;
  return unit === null ? scaleName : `${unit} (${scaleName})`;
}

/** @throws {CsvError} when the series is incomplete, or its rows differ in unit. */
async function* readSeries(
  { settings, log }: Context,
  collector: SeriesCollector,
  series: Series,
): AsyncIterable<SourceItem> {
  const { slug, tags } = series;
  const failure = collector.failures.get(slug);
  if (failure !== undefined) throw new CsvError(failure);
  const totals = findTotals(series, settings.total);
  if (totals.size > 0) log.debug({ slug, totals: Object.fromEntries(totals) }, 'pinned to the totals');
  const entry: CatalogueEntry = {
    slug,
    name: plainText(series.name) ?? slug,
    description: null,
    unit: plainText(await findUnit(collector, series, totals)),
    ...sourceFields([...series.sources].map((source) => citedSource(source.replaceAll('_', ' '), null))),
    tags,
    licence: null,
  };
  yield { kind: 'indicator', entry };
  const files = [...series.files];
  for await (const rows of collector.spool.read(slug)) {
    const observations = rows.map((row) => {
      const other = findOtherDimension(row, totals);
      return other === null ? row.observation : { ...row.observation, other_dimension: other };
    });
    yield { kind: 'observations', slug, rows: observations, files };
  }
}

export const sdmxCsv: Connector<SdmxSettings> = {
  protocol: 'sdmx-csv',
  settings: sdmxSettings,
  async *read(context) {
    await using collector = new SeriesCollector();
    const failures: SourceItem[] = [];
    const files = readParts(
      context,
      context.settings.files,
      (file) => file.slug ?? toSlug(file.path),
      async (file) => {
        await collector.addFile(context, file);
        return { items: [] };
      },
    );
    for await (const item of files) failures.push(item);
    const unused = Object.keys(context.settings.pin).filter((id) => !collector.pinned.has(id));
    if (unused.length > 0) throw new CsvError(`pinned, but in no file: ${unused.join(', ')}`);
    if (collector.vintage) yield { kind: 'vintage', vintage: collector.vintage };
    const series = [...collector.series.values()].filter((one) => one.files.size > 0);
    yield { kind: 'plan', indicators: series.length };
    for (const one of series) {
      try {
        yield* readSeries(context, collector, one);
      } catch (error) {
        if (!(error instanceof CsvError)) throw error;
        yield { kind: 'failed', slug: one.slug, reason: error.message };
      }
    }
    yield* failures;
  },
};
