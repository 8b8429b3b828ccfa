/**
 * The World Bank's CSV downloads: zips as its API and DataBank serve them, or the same files already unpacked.
 *
 * A download holds one indicator or a whole topic; notes on the indicators lie beside it. Files are read in the order
 * the definition lists them and the first that holds a series gives all of it, so vintages never mix within a series:
 * list the newest first (a listed order that contradicts the files' own dates is logged). A file is read to its end
 * before its first figure is handed on, so a download that breaks off gives nothing instead of half a series.
 *
 * The same code in another database is another series (the archive's `EN.ATM.CO2E.PC` is a sum over old editions), so
 * codes of other databases than `source_id` carry their number: `EN.ATM.CO2E.PC.DS57`.
 */
import { z } from 'zod';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import type { Connector, ConnectorContext, RawObservation, SourceItem } from './connector.ts';
import { CsvError, type CsvTable, columnIndex, openCsv } from './csv.ts';
import { codeToSlug } from './plain-text.ts';
import { type PartReader, readParts } from './provider-parts.ts';
import { SeriesSpool } from './series-spool.ts';
import { topicTags, unitFromName } from './world-bank-api.ts';
import { openZip, ZIP_LIMITS, type ZipArchive } from './zip.ts';

const MEGABYTE = 1024 * 1024;

export const worldBankCsvSettings = z.strictObject({
  /** Zips or CSV files, newest vintage first. Notes beside an unpacked `API_*.csv` are found by its name. */
  files: z
    .array(z.union([z.string(), z.strictObject({ path: z.string(), notes: z.string().optional() })]))
    .default([]),
  /** A text file that names such files, one relative path a line. Read after `files`. */
  index: z.string().optional(),
  /** A download address with `{code}`, once for each code. Read last. */
  download: z
    .strictObject({ reference: z.string().includes('{code}'), codes: z.array(z.string()).min(1) })
    .optional(),
  /** The database whose codes are bare; 2 is the World Development Indicators. */
  source_id: z.int().default(2),
  /** Whether an empty cell is a published gap (null) or no row at all. */
  empty: z.enum(['null', 'absent']).default('null'),
  max_inflated_mb: z
    .number()
    .positive()
    .default(ZIP_LIMITS.inflated_bytes / MEGABYTE),
});
export type WorldBankCsvSettings = z.infer<typeof worldBankCsvSettings>;
type Context = ConnectorContext<WorldBankCsvSettings>;

interface Part {
  /** A relative URL. */
  reference: string;
  notes: string | null;
}

interface Download {
  part: Part;
  /** The CSV's own name, which carries the number of its database. */
  file: string;
  bytes: AsyncIterable<Uint8Array>;
  notes: Map<string, SeriesMetadata>;
  zip: ZipArchive | null;
}

const encodePath = (path: string): string => path.split('/').map(encodeURIComponent).join('/');
const fileName = (reference: string): string =>
  decodeURIComponent((reference.split('?')[0] ?? '').split('/').at(-1) ?? '');
const codeInName = (name: string): string =>
  /^API_(.+?)_DS\d+_/.exec(name)?.[1] ?? name.replace(/\.(zip|csv)$/i, '');
const isMainFile = (name: string): boolean =>
  /\.csv$/i.test(name) && !/^(Metadata_|WDI(Country|Series|footnote))/i.test(fileName(name));
const isNotes = (name: string): boolean => /^(Metadata_Indicator_.*|WDISeries)\.csv$/i.test(fileName(name));

async function partsOf({ settings, upstream }: Context): Promise<Part[]> {
  const listed = settings.files.map((file): Part => {
    const { path, notes } = typeof file === 'string' ? { path: file, notes: undefined } : file;
    return { reference: encodePath(path), notes: notes === undefined ? null : encodePath(notes) };
  });
  const index = settings.index === undefined ? '' : await upstream.text(encodePath(settings.index));
  const lines = index.split('\n').map((line) => line.trim());
  const indexed = lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line): Part => ({ reference: encodePath(line), notes: null }));
  const { reference = '', codes = [] } = settings.download ?? {};
  const downloads = codes.map(
    (code): Part => ({ reference: reference.replace('{code}', encodeURIComponent(code)), notes: null }),
  );
  return [...listed, ...indexed, ...downloads];
}

/** Looks at the first bytes: what calls itself a zip need not be one. */
async function sniff(
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ kind: 'zip' | 'csv'; bytes: AsyncGenerator<Uint8Array, void, undefined> }> {
  const chunks = bytes[Symbol.asyncIterator]();
  const first = await chunks.next();
  const head = first.done ? Buffer.alloc(0) : Buffer.from(first.value);
  const refuse = async (reason: string): Promise<never> => {
    await chunks.return?.();
    throw new CsvError(reason);
  };
  if (head.length === 0) await refuse('the file is empty');
  const start = head.subarray(0, 200).toString('latin1').trimStart();
  if (start.startsWith('<')) await refuse('a page of HTML or XML came instead of a download');
  if (start.startsWith('{') || start.startsWith('[')) await refuse(`not a download: ${start}`);
  async function* whole(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield head;
      for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value;
    } finally {
      await chunks.return?.();
    }
  }
  return { kind: start.startsWith('PK') ? 'zip' : 'csv', bytes: whole() };
}

async function openZipped(
  part: Part,
  bytes: AsyncIterable<Uint8Array>,
  inflatedBytes: number,
): Promise<Download> {
  const zip = await openZip(bytes, { ...ZIP_LIMITS, inflated_bytes: inflatedBytes });
  try {
    const [file, ...others] = zip.names.filter(isMainFile);
    if (file === undefined || others.length > 0) {
      throw new CsvError(`expected one table in the archive, found: ${zip.names.join(', ')}`);
    }
    const notesFile = zip.names.find(isNotes);
    const notes = notesFile === undefined ? new Map() : await readSeriesMetadata(zip.stream(notesFile));
    return { part, file, bytes: zip.stream(file), notes, zip };
  } catch (error) {
    await zip.close();
    throw error;
  }
}

async function openUnpacked(
  { upstream }: Context,
  part: Part,
  bytes: AsyncIterable<Uint8Array>,
): Promise<Download> {
  const file = fileName(part.reference);
  const sibling = /^API_/.test(file) ? `Metadata_Indicator_${file}` : null;
  const folder = part.reference.slice(0, part.reference.lastIndexOf('/') + 1);
  const reference = part.notes ?? (sibling === null ? null : folder + encodeURIComponent(sibling));
  const notes = reference === null ? new Map() : await readSeriesMetadata(await upstream.stream(reference));
  return { part, file, bytes, notes, zip: null };
}

async function openPart(context: Context, part: Part): Promise<Download> {
  const { kind, bytes } = await sniff(await context.upstream.stream(part.reference));
  if (kind === 'zip') return openZipped(part, bytes, context.settings.max_inflated_mb * MEGABYTE);
  try {
    return await openUnpacked(context, part, bytes);
  } catch (error) {
    await bytes.return();
    throw error;
  }
}

function entryOf(slug: string, code: string, name: string, note: SeriesMetadata | undefined): CatalogueEntry {
  const title = note?.name ?? name;
  return {
    slug,
    name: title,
    description: note?.description ?? null,
    unit: note?.unit ?? unitFromName(title),
    source: note?.source ?? null,
    source_url: `https://data.worldbank.org/indicator/${encodeURIComponent(code)}`,
    tags: topicTags(note?.topic ?? null),
    licence: note?.licence ?? null,
  };
}

/** What the files read so far have given. */
interface Taken {
  /** By slug: the date of the file that gave it. */
  series: Map<string, string | null>;
  newest: string | null;
}

function isFree(context: Context, taken: Taken, slug: string, file: string, date: string | null): boolean {
  const before = taken.series.get(slug);
  if (before === undefined) return true;
  if (date !== null && before !== null && date > before) {
    context.log.warn({ slug, file, date, kept: before }, 'an older vintage is listed before a newer one');
  }
  return false;
}

/** Codes of other databases than the definition's own carry the number that the file's name gives. */
function slugIn(context: Context, file: string, code: string): string {
  const database = Number(/_DS(\d+)_/.exec(file)?.[1] ?? context.settings.source_id);
  return codeToSlug(code) + (database === context.settings.source_id ? '' : `.DS${database}`);
}

/**
 * Reads the whole table into the spool, leaving out series that an earlier file gave.
 * Returns the names of the series by code, and the file's date.
 */
async function collect(
  context: Context,
  opened: Download,
  taken: Taken,
  spool: SeriesSpool<RawObservation>,
): Promise<{ names: Map<string, string>; date: string | null }> {
  const { table, columns, last_updated: date } = await openWideDownload(opened.bytes);
  const names = new Map<string, string>();
  const known = new Map<string, boolean>();
  for await (const batch of table.batches) {
    context.signal.throwIfAborted();
    for (const cells of batch) {
      const { code, name, rows } = parseWideRow(cells, columns, context.settings.empty);
      if (code === '') throw new CsvError(`a row without an indicator code: ${cells.slice(0, 4).join(',')}`);
      const free =
        known.get(code) ?? isFree(context, taken, slugIn(context, opened.file, code), opened.file, date);
      known.set(code, free);
      if (!free) continue;
      names.set(code, name);
      for (const row of rows) spool.add(code, row);
    }
    await spool.spill();
  }
  if (known.size === 0) throw new CsvError('the table has no rows');
  return { names, date };
}

async function* readDownload(
  context: Context,
  opened: Download,
  taken: Taken,
): AsyncGenerator<SourceItem, void, undefined> {
  const spool = new SeriesSpool<RawObservation>();
  try {
    const { names, date } = await collect(context, opened, taken, spool);
    for (const [code, name] of names) {
      const slug = slugIn(context, opened.file, code);
      taken.series.set(slug, date);
      yield { kind: 'indicator', entry: entryOf(slug, code, name, opened.notes.get(code.toUpperCase())) };
      for await (const rows of spool.read(code)) yield { kind: 'observations', slug, rows };
    }
    if (date !== null && (taken.newest === null || date > taken.newest)) taken.newest = date;
  } finally {
    await spool.close();
    await opened.zip?.close();
  }
}

async function* read(context: Context): AsyncGenerator<SourceItem, void, undefined> {
  const parts = await partsOf(context);
  if (parts.length === 0) throw new CsvError('the definition lists no files');
  const taken: Taken = { series: new Map(), newest: null };
  const reader: PartReader<Part, Download> = {
    slug: (part) => codeToSlug(codeInName(fileName(part.reference))),
    open: (part) => openPart(context, part),
    slugs: (opened) => [slugIn(context, opened.file, codeInName(fileName(opened.file)))],
    read: (opened) => readDownload(context, opened, taken),
  };
  yield* readParts(context, parts, reader);
  if (taken.newest !== null) yield { kind: 'vintage', vintage: taken.newest };
}

export const worldBankCsv: Connector<WorldBankCsvSettings> = {
  protocol: 'world-bank-csv',
  settings: worldBankCsvSettings,
  read,
};

/**
 * The World Bank's wide CSV: a row per country and indicator, a column per year.
 *
 * Guarantees: the lines above the header are found, not counted (downloads have four, the bulk file none); the byte
 * order mark, the carriage returns and the nameless last column that a trailing comma makes are taken off; a header
 * that is not this layout is an error. Cells are handed on as upstream writes them.
 */

export interface WideDownload {
  /** `Data Source` of the preamble; null in files without one. */
  source: string | null;
  /** `Last Updated Date` of the preamble, `YYYY-MM-DD`; null in files without one. */
  last_updated: string | null;
  table: CsvTable;
  columns: WideColumns;
}

interface WideColumns {
  code: number;
  indicator: number;
  name: number;
  years: { year: string; at: number }[];
}

/** What is said of one indicator in `Metadata_Indicator_*.csv` or `WDISeries.csv`. */
export interface SeriesMetadata {
  name: string | null;
  description: string | null;
  unit: string | null;
  source: string | null;
  topic: string | null;
  licence: string | null;
}

const PREAMBLE_LIMIT_BYTES = 64 * 1024;
const HEADER_START = 'Country Name';
/** Plain in downloads; DataBank writes `1960 [YR1960]`, the notes files `YR1960`. */
const YEAR_COLUMN = /^(?:YR)?(\d{4})(?: \[YR\d{4}\])?$/;

const preambleValue = (preamble: string, key: string): string | null =>
  new RegExp(`"?${key}"?,"?([^"\\r\\n]*)`).exec(preamble)?.[1]?.replace(/,$/, '').trim() || null;

async function* following(
  head: Uint8Array,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield head;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

/** Splits a file before its header line. */
async function splitPreamble(
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ preamble: string; body: AsyncIterable<Uint8Array> }> {
  const chunks = bytes[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  for (;;) {
    const at = head.indexOf(HEADER_START);
    if (at >= 0) {
      const start = head[at - 1] === 0x22 ? at - 1 : at;
      return {
        preamble: head.subarray(0, start).toString('utf8'),
        body: following(head.subarray(start), chunks),
      };
    }
    const next = head.length > PREAMBLE_LIMIT_BYTES ? { done: true as const } : await chunks.next();
    if (next.done) {
      await chunks.return?.();
      throw new CsvError(`not a World Bank download: no header that starts with "${HEADER_START}"`);
    }
    head = Buffer.concat([head, next.value]);
  }
}

function wideColumns(header: readonly string[]): WideColumns {
  const columns: WideColumns = {
    code: columnIndex(header, 'Country Code'),
    indicator: columnIndex(header, 'Indicator Code'),
    name: columnIndex(header, 'Indicator Name'),
    years: [],
  };
  const known = new Set([columns.code, columns.indicator, columns.name, columnIndex(header, HEADER_START)]);
  for (const [at, name] of header.entries()) {
    const year = YEAR_COLUMN.exec(name.trim())?.[1];
    if (year !== undefined) columns.years.push({ year, at });
    else if (name.trim() !== '' && !known.has(at)) throw new CsvError(`unexpected column "${name}"`);
  }
  if (columns.years.length === 0) throw new CsvError('no column is a year');
  return columns;
}

/**
 * Opens a wide CSV up to its header.
 * @throws {CsvError} when it is not the layout; reading the table throws it for a file that breaks off in a row.
 */
export async function openWideDownload(bytes: AsyncIterable<Uint8Array>): Promise<WideDownload> {
  const { preamble, body } = await splitPreamble(bytes);
  const table = await openCsv(body, { delimiter: ',' });
  return {
    source: preambleValue(preamble, 'Data Source'),
    last_updated: preambleValue(preamble, 'Last Updated Date'),
    table,
    columns: wideColumns(table.header),
  };
}

/** One row's series and figures. An empty cell is a published gap, or no row at all where `empty` says `absent`. */
export function parseWideRow(
  cells: readonly string[],
  columns: WideColumns,
  empty: 'null' | 'absent',
): { code: string; name: string; rows: RawObservation[] } {
  const place = cells[columns.code]?.trim() ?? '';
  const rows: RawObservation[] = [];
  for (const { year, at } of columns.years) {
    const value = cells[at]?.trim() || null;
    if (value !== null || empty === 'null') rows.push({ place, year, value });
  }
  return { code: cells[columns.indicator]?.trim() ?? '', name: cells[columns.name]?.trim() ?? '', rows };
}

/** Column names in the notes of single downloads, and in the bulk file's. */
const NOTE_COLUMNS = {
  code: ['INDICATOR_CODE', 'Series Code'],
  name: ['INDICATOR_NAME', 'Indicator Name'],
  description: ['SOURCE_NOTE', 'Long definition'],
  unit: ['Unit of measure'],
  source: ['SOURCE_ORGANIZATION', 'Source'],
  topic: ['Topic'],
  licence: ['License Type'],
} as const;

/**
 * Reads the notes on indicators, by upper-cased code.
 * @throws {CsvError} when the file has no column of codes.
 */
export async function readSeriesMetadata(
  bytes: AsyncIterable<Uint8Array>,
): Promise<Map<string, SeriesMetadata>> {
  const { header, batches } = await openCsv(bytes, { delimiter: ',' });
  const at = (names: readonly string[]): number => header.findIndex((name) => names.includes(name.trim()));
  const code = at(NOTE_COLUMNS.code);
  if (code < 0) throw new CsvError(`no column of indicator codes; there are: ${header.join(', ')}`);
  const columns = {
    name: at(NOTE_COLUMNS.name),
    description: at(NOTE_COLUMNS.description),
    unit: at(NOTE_COLUMNS.unit),
    source: at(NOTE_COLUMNS.source),
    topic: at(NOTE_COLUMNS.topic),
    licence: at(NOTE_COLUMNS.licence),
  };
  const notes = new Map<string, SeriesMetadata>();
  for await (const batch of batches) {
    for (const cells of batch) {
      const cell = (index: number): string | null => cells[index]?.replaceAll(/\s+/g, ' ').trim() || null;
      notes.set((cells[code] ?? '').trim().toUpperCase(), {
        name: cell(columns.name),
        description: cell(columns.description),
        unit: cell(columns.unit),
        source: cell(columns.source),
        topic: cell(columns.topic),
        licence: cell(columns.licence),
      });
    }
  }
  return notes;
}
