/**
 * The World Bank's wide CSV downloads (a row per country and indicator, a column per year): zips of its API and of
 * DataBank, or the same files unpacked.
 *
 * A download holds one indicator or a whole topic; a file with metadata of the indicators may lie beside it. Files are
 * read in the listed order, and the first that holds a series owns it, so editions never mix within a series: list the
 * newest first (an order that contradicts the files' dates is logged). A file is read completely before its first
 * observation, so a truncated download yields nothing.
 *
 * Quirks: a preamble of four lines, or none; a nameless last column from a trailing comma; the same code in another
 * database is another series (the archive's `EN.ATM.CO2E.PC` sums old editions), so codes of databases other than
 * `source_id` carry its number: `EN.ATM.CO2E.PC.DS57`.
 */
import { z } from 'zod';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import { encodePath } from '../upstream/upstream.ts';
import { type Connector, type ConnectorContext, listOf, readParts, type SourceItem } from './connector.ts';
import { CsvError, type CsvTable, columnIndex, openCsv, prepend, readStart } from './csv.ts';
import { citedSource, codeToSlug, sourceFields } from './plain-text.ts';
import { findYearColumns, MELTED_COLUMNS, meltYears } from './table-columns.ts';
import { emptyCells, type LongSeries, readLongTable, toSourceItems } from './table-reader.ts';
import { indicatorPage, topicTags, unitFromName } from './world-bank-api.ts';
import { openZip, ZIP_LIMITS, type ZipArchive } from './zip.ts';

const MEGABYTE = 1024 * 1024;

const worldBankCsvSettings = z.strictObject({
  /** Zips or CSV files, at least one, newest edition first. The metadata file (`notes`) of an unpacked `API_*.csv` is found by name. */
  files: listOf(z.strictObject({ path: z.string(), notes: z.string().optional() }), 'path').default([]),
  /** A text file that lists such files, one relative path per line. Read after `files`. */
  index: z.string().optional(),
  /** A download reference with `{code}`, once for each code. Read last. */
  download: z
    .strictObject({ reference: z.string().includes('{code}'), codes: z.array(z.string()).min(1) })
    .optional(),
  /** The database whose codes get no suffix; 2 is the World Development Indicators. */
  source_id: z.int().default(2),
  /** What an empty cell means. */
  empty: emptyCells.default('layout'),
  max_inflated_mb: z
    .number()
    .positive()
    .default(ZIP_LIMITS.inflated_bytes / MEGABYTE),
});
type WorldBankCsvSettings = z.infer<typeof worldBankCsvSettings>;
type Context = ConnectorContext<WorldBankCsvSettings>;

interface OpenTable {
  /** `Last Updated Date` of the preamble, `YYYY-MM-DD`; null without a preamble. */
  date: string | null;
  /** A row for each place, indicator and year. */
  table: CsvTable;
}

const PREAMBLE_LIMIT_BYTES = 64 * 1024;
const HEADER_START = 'Country Name';
/** `1960` in downloads, `1960 [YR1960]` in DataBank's, `YR1960` in metadata files. */
const YEAR_COLUMN = String.raw`^(?:YR)?(?<year>\d{4})(?: \[YR\d{4}\])?$`;
const KEYS = { place: 'Country Code', code: 'Indicator Code', name: 'Indicator Name' } as const;
/** Beside the years; downloads have a nameless last column. */
const OTHER_COLUMNS: ReadonlySet<string> = new Set([HEADER_START, ...Object.values(KEYS), '']);
/** Where `meltYears` puts the figures. */
const FIGURES = { column: MELTED_COLUMNS.value, value: MELTED_COLUMNS.value };

/** Finds the header line, wherever it is. @throws {CsvError} when there is none. */
function findHeader(head: Buffer, isEnd: boolean): number | null {
  const at = head.indexOf(HEADER_START);
  if (at >= 0) return head[at - 1] === 0x22 ? at - 1 : at;
  if (!isEnd && head.length <= PREAMBLE_LIMIT_BYTES) return null;
  throw new CsvError(`not a World Bank download: no header that starts with "${HEADER_START}"`);
}

/**
 * Opens a wide CSV up to its header.
 * @throws {CsvError} when it has another layout; reading the rows throws it for a truncated file.
 */
async function openTable(bytes: AsyncIterable<Uint8Array>): Promise<OpenTable> {
  const { found: start, head, rest } = await readStart(bytes, findHeader);
  const body = prepend<Uint8Array>([head.subarray(start)], rest);
  const { header, batches } = await openCsv(body, { delimiter: ',' });
  const years = findYearColumns(header, YEAR_COLUMN);
  const other = years.keys.map((at) => header[at] ?? '').find((name) => !OTHER_COLUMNS.has(name.trim()));
  if (other !== undefined) throw new CsvError(`unexpected column "${other}"`);
  const date = /"?Last Updated Date"?,"?([^"\r\n]*)/.exec(head.toString('utf8', 0, start))?.[1];
  const table = meltYears({ header, batches: withCodes(batches, columnIndex(header, KEYS.code)) }, years);
  return { date: date?.replace(/,$/, '').trim() || null, table };
}

/** @throws {CsvError} for a row without a code. */
async function* withCodes(batches: CsvTable['batches'], code: number): AsyncGenerator<string[][]> {
  for await (const batch of batches) {
    const bare = batch.find((cells) => !cells[code]?.trim());
    if (bare) throw new CsvError(`a row without an indicator code: ${bare.slice(0, 4).join(',')}`);
    yield batch;
  }
}

/** Column names in `Metadata_Indicator_*.csv` of single downloads, and in `WDISeries.csv` of the bulk file. */
const METADATA_COLUMNS = {
  name: ['INDICATOR_NAME', 'Indicator Name'],
  description: ['SOURCE_NOTE', 'Long definition'],
  unit: ['Unit of measure'],
  source: ['SOURCE_ORGANIZATION', 'Source'],
  topic: ['Topic'],
  licence: ['License Type'],
} as const;
const METADATA_KEY = ['INDICATOR_CODE', 'Series Code'];
type SeriesMetadata = Record<keyof typeof METADATA_COLUMNS, string | null>;

/**
 * Reads a metadata file; keys are upper-cased codes.
 * @throws {CsvError} when it has no column of codes.
 */
async function readSeriesMetadata(bytes: AsyncIterable<Uint8Array>): Promise<Map<string, SeriesMetadata>> {
  const { header, batches } = await openCsv(bytes, { delimiter: ',' });
  const find = (names: readonly string[]): number => header.findIndex((name) => names.includes(name.trim()));
  const key = find(METADATA_KEY);
  if (key < 0) throw new CsvError(`no column of indicator codes; there are: ${header.join(', ')}`);
  const columns = Object.entries(METADATA_COLUMNS).map(([field, names]) => [field, find(names)] as const);
  const metadata = new Map<string, SeriesMetadata>();
  for await (const batch of batches) {
    for (const cells of batch) {
      const fields = columns.map(([field, at]) => [field, cells[at]?.replaceAll(/\s+/g, ' ').trim() || null]);
      metadata.set((cells[key] ?? '').trim().toUpperCase(), Object.fromEntries(fields));
    }
  }
  return metadata;
}

interface FileReference {
  reference: string;
  metadata: string | null;
}

interface Download {
  /** The name of the CSV file, which contains the number of its database. */
  file: string;
  bytes: AsyncIterable<Uint8Array>;
  /** Opens the file with metadata of its indicators; null without one. */
  openMetadata: (() => Promise<AsyncIterable<Uint8Array>>) | null;
  close(): Promise<unknown>;
}

const fileName = (reference: string): string =>
  decodeURIComponent((reference.split('?')[0] ?? '').split('/').at(-1) ?? '');
const codeFromFileName = (name: string): string =>
  /^API_(.+?)_DS\d+_/.exec(name)?.[1] ?? name.replace(/\.(zip|csv)$/i, '');
const isTable = (name: string): boolean =>
  /\.csv$/i.test(name) && !/^(Metadata_|WDI(Country|Series|footnote))/i.test(fileName(name));
const isMetadata = (name: string): boolean =>
  /^(Metadata_Indicator_.*|WDISeries)\.csv$/i.test(fileName(name));

async function listFiles({ settings, upstream }: Context): Promise<FileReference[]> {
  const listed = settings.files.map(({ path, notes }): FileReference => {
    return { reference: encodePath(path), metadata: notes === undefined ? null : encodePath(notes) };
  });
  const index = settings.index === undefined ? '' : await upstream.text(encodePath(settings.index));
  const lines = index.split('\n').map((line) => line.trim());
  const indexed = lines.filter((line) => line !== '' && !line.startsWith('#')).map(encodePath);
  const { reference: template = '', codes = [] } = settings.download ?? {};
  const downloads = codes.map((code) => template.replace('{code}', encodeURIComponent(code)));
  return [...listed, ...[...indexed, ...downloads].map((reference) => ({ reference, metadata: null }))];
}

/** Whether a file is a zip, by its first bytes, because the name may lie. @throws {CsvError} when it is no download. */
function isZip(head: Buffer): boolean {
  const start = head.subarray(0, 200).toString('latin1').trimStart();
  if (head.length === 0) throw new CsvError('the file is empty');
  if (start.startsWith('<')) throw new CsvError('a page of HTML or XML came instead of a download');
  if (/^[{[]/.test(start)) throw new CsvError(`not a download: ${start}`);
  return start.startsWith('PK');
}

/** Opens a download. The caller closes it. */
async function openDownload(
  { settings, upstream }: Context,
  { reference, metadata }: FileReference,
): Promise<Download> {
  const { found: isZipped, head, rest } = await readStart(await upstream.stream(reference), isZip);
  const bytes = prepend<Uint8Array>([head], rest);
  if (isZipped) {
    return openZipped(
      await openZip(bytes, { ...ZIP_LIMITS, inflated_bytes: settings.max_inflated_mb * MEGABYTE }),
    );
  }
  const file = fileName(reference);
  const folder = reference.slice(0, reference.lastIndexOf('/') + 1);
  const beside = /^API_/.test(file) ? folder + encodeURIComponent(`Metadata_Indicator_${file}`) : null;
  const notes = metadata ?? beside;
  const openMetadata = notes === null ? null : () => upstream.stream(notes);
  return { file, bytes, openMetadata, close: async () => rest.return?.() };
}

async function openZipped(zip: ZipArchive): Promise<Download> {
  const [file, ...others] = zip.names.filter(isTable);
  if (file === undefined || others.length > 0) {
    await zip.close();
    throw new CsvError(`expected one table in the archive, found: ${zip.names.join(', ')}`);
  }
  const notes = zip.names.find(isMetadata);
  const openMetadata = notes === undefined ? null : async () => zip.stream(notes);
  return { file, bytes: zip.stream(file), openMetadata, close: zip.close };
}

function buildEntry(
  slug: string,
  code: string,
  nameInTable: string,
  metadata: SeriesMetadata | undefined,
): CatalogueEntry {
  const name = metadata?.name ?? nameInTable;
  return {
    slug,
    name,
    description: metadata?.description ?? null,
    unit: metadata?.unit ?? unitFromName(name),
    ...sourceFields([citedSource(metadata?.source, indicatorPage(code))]),
    tags: topicTags(metadata?.topic ?? null),
    licence: metadata?.licence ?? null,
  };
}

/** The slug of a code; the file name states its database. */
function buildSlug(context: Context, file: string, code: string): string {
  const database = Number(/_DS(\d+)_/.exec(file)?.[1] ?? context.settings.source_id);
  return codeToSlug(code) + (database === context.settings.source_id ? '' : `.DS${database}`);
}

/** The series read so far: the date of the file that holds each, by slug. */
type OwnedSeries = Map<string, string | null>;

/** The series of a table that no earlier file owns. */
async function* readDownload(
  context: Context,
  reference: string,
  { file, bytes, openMetadata, close }: Download,
  owned: OwnedSeries,
): AsyncIterable<SourceItem> {
  const { settings, signal, log } = context;
  let count = 0;
  try {
    const metadata = openMetadata && (await readSeriesMetadata(await openMetadata()));
    const { date, table } = await openTable(bytes);
    const options = { place: [KEYS.place], year: MELTED_COLUMNS.year, missing: [], isWide: true, signal };
    const series = readLongTable(table, FIGURES, KEYS, { ...options, empty: settings.empty });
    const takeSeries = ({ code, name }: LongSeries): CatalogueEntry | undefined => {
      const slug = buildSlug(context, file, code);
      const kept = owned.get(slug);
      if (date !== null && kept && date > kept)
        log.warn({ slug, file, date, kept }, 'an older edition is listed before a newer one');
      const isFree = kept === undefined;
      if (isFree) owned.set(slug, date);
      count += 1;
      return isFree ? buildEntry(slug, code, name, metadata?.get(code.toUpperCase())) : undefined;
    };
    yield* toSourceItems(series, takeSeries, [reference]);
    if (count === 0) throw new CsvError('the table has no rows');
    if (date !== null) yield { kind: 'vintage', vintage: date };
  } finally {
    await close();
  }
}

export const worldBankCsv: Connector<WorldBankCsvSettings> = {
  protocol: 'world-bank-csv',
  settings: worldBankCsvSettings,
  async *read(context): AsyncIterable<SourceItem> {
    const files = await listFiles(context);
    if (files.length === 0) throw new CsvError('the definition lists no files');
    const owned: OwnedSeries = new Map();
    const slugOf = ({ reference }: FileReference) => codeToSlug(codeFromFileName(fileName(reference)));
    yield* readParts(context, files, slugOf, async (file) => {
      const download = await openDownload(context, file);
      const slug = buildSlug(context, download.file, codeFromFileName(fileName(download.file)));
      return { slugs: [slug], items: readDownload(context, file.reference, download, owned) };
    });
  },
};
