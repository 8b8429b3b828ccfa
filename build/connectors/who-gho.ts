/**
 * The World Health Organization's Global Health Observatory: its OData service, or its older CSV exports.
 *
 * The definition lists the indicators. Per dimension (SEX, AGEGROUP, ...) it names the codes for the whole population
 * (`pin`), or makes each code a series (`split`, with the code in the slug: `TOBACCO_0000000192_FMLE`). Withdrawn rows,
 * rows for other parts of the population and rows of country groups are marked, for ingestion to count. An indicator is
 * read completely before its first observation, so one with broken paging yields nothing.
 */
import { z } from 'zod';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import { encodePath, hasStatus, type Upstream } from '../upstream/upstream.ts';
import {
  type Connector,
  type ConnectorContext,
  getText,
  laterEdition,
  listOf,
  type RawObservation,
  ResponseError,
  readParts,
  type SourceItem,
  textList,
} from './connector.ts';
import { readCsvRecords } from './csv.ts';
import { codeToSlug } from './plain-text.ts';
import { SeriesSpool } from './table-reader.ts';
import {
  COUNTRY,
  fetchCodedCsv,
  fetchOdata,
  fetchOdataPages,
  type GhoRow,
  toObservation,
} from './who-gho-rows.ts';

const GAPS = 'No data|Not available|Not applicable|Data not available|NA|…|...|.|-|–'.split('|');

/** Accepted codes by dimension; an empty list accepts only rows without the dimension. */
const pins = z.record(
  z.string(),
  z.union([z.string(), z.array(z.string())]).transform((value) => [value].flat()),
);

const indicatorSettings = z.strictObject({
  code: z.string(),
  /** The reference of its rows, if not the provider's `path`. */
  path: z.string().optional(),
  name: z.string().optional(),
  unit: z.string().optional(),
  tags: z.array(z.string()).default([]),
  /** Wins over the provider's. */
  pin: pins.default({}),
  /** Dimensions of which each code is a series. Codes that are also pinned keep the bare slug. */
  split: textList.default([]),
});

const whoGhoSettings = z.strictObject({
  format: z.enum(['odata', 'csv']).default('odata'),
  /** The reference of one indicator's rows, query included. Default: `{code}`, or `{code}.csv` for exports. */
  path: z.string().includes('{code}').optional(),
  indicators: listOf(indicatorSettings, 'code'),
  pin: pins.default({}),
  /** Names of the codes of split dimensions. */
  labels: z
    .record(z.string(), z.string())
    .default({ BTSX: 'both sexes', MLE: 'male', FMLE: 'female', TOTL: 'total', RUR: 'rural', URB: 'urban' }),
  /** A CSV file with the names of indicators, for exports; the service lists them itself. */
  names: z
    .strictObject({ path: z.string(), code: z.string(), name: z.string(), link: z.string().optional() })
    .optional(),
  /** Displayed texts that mean "no value", in any case; the empty text always does. */
  missing: z.array(z.string()).default(GAPS),
  /** The name of the edition where rows carry no date. */
  vintage: z.string().optional(),
});
type WhoGhoSettings = z.infer<typeof whoGhoSettings>;
type Context = ConnectorContext<WhoGhoSettings>;
type IndicatorSettings = z.infer<typeof indicatorSettings>;

/** What a row contributes to. */
interface Selection {
  /** The codes of the split dimensions, which extend the slug. */
  splitCodes: string[];
  /** The part of the population, such as `SEX=FMLE`, when the definition does not take it. */
  excluded: string | null;
}

/** Dimensions that do not describe the population. */
const OTHER_DIMENSIONS = new Set(['DATASOURCE']);

type Pins = Readonly<Record<string, readonly string[]>>;

/**
 * Assigns the rows of one indicator to parts of the population. A row without a dimension is for all of it. Rows that
 * differ by a dimension that is neither pinned nor split fail the series: they would mix populations under one key.
 * The function throws {ResponseError} when country rows differ by a free dimension.
 */
function createSelector(pin: Pins, split: readonly string[]): (row: GhoRow) => Selection {
  /** The first code of each free dimension; empty where rows have none. */
  const firstCodes = new Map<string, string>();
  let hasRows = false;
  const checkFreeDimensions = ({ dimensions }: GhoRow): void => {
    for (const dimension of new Set([...firstCodes.keys(), ...dimensions.keys()])) {
      if (dimension in pin || split.includes(dimension) || OTHER_DIMENSIONS.has(dimension)) continue;
      const code = dimensions.get(dimension) ?? '';
      const first = firstCodes.get(dimension) ?? (hasRows ? '' : code);
      firstCodes.set(dimension, first);
      if (code === first) continue;
      const codes = [first, code].map((one) => one || 'none').join(' and ');
      throw new ResponseError(`rows differ by ${dimension} (${codes}), which is neither pinned nor split`);
    }
    hasRows = true;
  };
  return (row) => {
    const splitCodes = split
      .map((dimension) => [dimension, row.dimensions.get(dimension)] as const)
      .flatMap(([dimension, code]) => (code === undefined || pin[dimension]?.includes(code) ? [] : code));
    for (const [dimension, accepted] of Object.entries(pin)) {
      const code = row.dimensions.get(dimension);
      if (code !== undefined && !split.includes(dimension) && !accepted.includes(code)) {
        return { splitCodes, excluded: `${dimension}=${code}` };
      }
    }
    if (row.placeType === COUNTRY) checkFreeDimensions(row);
    return { splitCodes, excluded: null };
  };
}

interface Label {
  name: string;
  link: string | null;
}

/** The names of indicators by code. */
async function readLabels({ settings, upstream }: Context): Promise<Map<string, Label>> {
  if (settings.names) return readLabelsFromCsv(upstream, settings.names);
  const labels = new Map<string, Label>();
  if (settings.format === 'csv') return labels;
  try {
    for await (const { rows } of fetchOdataPages(upstream, 'Indicator')) {
      for (const value of rows) {
        const code = getText(value, 'IndicatorCode');
        const name = getText(value, 'IndicatorName');
        if (code !== null && name !== null) labels.set(code, { name, link: null });
      }
    }
  } catch (error) {
    // A service without a list of indicators is accepted: codes, or the definition's names, then serve as names.
    if (!hasStatus(error, 404)) throw error;
  }
  return labels;
}

async function readLabelsFromCsv(
  upstream: Upstream,
  { path, code, name, link = '' }: NonNullable<WhoGhoSettings['names']>,
): Promise<Map<string, Label>> {
  const labels = new Map<string, Label>();
  const required = [code, name, link].filter((column) => column !== '');
  for await (const record of readCsvRecords(await upstream.stream(encodePath(path)), required)) {
    const text = record[name]?.trim();
    if (text) labels.set(record[code] ?? '', { name: text, link: record[link]?.trim() || null });
  }
  return labels;
}

/** The unit in the last brackets of a name: "(years)", "(%)", "(per 100 000 population)". */
const unitFromBrackets = (name: string): string | null =>
  /\((%[^()]*|per [^()]*|years|kg\/m2|PPP int\. \$|US\$)\)\s*$/i.exec(name)?.[1] ?? null;

function buildEntry(
  { settings, definition }: Context,
  indicator: IndicatorSettings,
  label: Label | undefined,
  splitCodes: readonly string[],
): CatalogueEntry {
  const name = (indicator.name ?? label?.name ?? indicator.code).replaceAll(/\s+/g, ' ');
  const labels = splitCodes.map((code) => settings.labels[code] ?? code);
  return {
    slug: codeToSlug([indicator.code, ...splitCodes].join('_')),
    name: [name, ...labels].join(', '),
    description: null,
    unit: indicator.unit ?? unitFromBrackets(name),
    source: label?.link ? definition.name : null,
    source_url: label?.link ?? null,
    tags: indicator.tags,
    licence: null,
  };
}

/** The reference of an indicator's rows. A query, such as a `$filter`, is sent as the definition writes it. */
function expandReference(pattern: string, code: string): string {
  const [path = '', ...query] = pattern.split('?');
  const encoded = encodePath(path.replaceAll('{code}', code));
  return [encoded, ...query.map((part) => part.replaceAll('{code}', encodeURIComponent(code)))].join('?');
}

interface SplitSeries {
  /** The codes of the split dimensions. */
  splitCodes: string[];
  /** References of the files with its rows. */
  files: Set<string>;
}

interface CollectedRows {
  spool: SeriesSpool<string, RawObservation>;
  /** By spool key. */
  series: Map<string, SplitSeries>;
  /** When upstream last changed a row. */
  date: string | null;
}

/** Reads all rows of one indicator into the spool. */
async function collectRows(
  { settings, upstream, signal }: Context,
  { code, path, pin, split }: IndicatorSettings,
): Promise<CollectedRows> {
  const isCsv = settings.format === 'csv';
  const pattern = path ?? settings.path ?? (isCsv ? '{code}.csv' : '{code}');
  const select = createSelector({ ...settings.pin, ...pin }, split);
  const missing = new Set([...settings.missing, ''].map((text) => text.toLowerCase()));
  const spool = new SeriesSpool<string, RawObservation>();
  const series = new Map<string, SplitSeries>();
  let date: string | null = null;
  try {
    const batches = (isCsv ? fetchCodedCsv : fetchOdata)(upstream, expandReference(pattern, code));
    for await (const { rows, reference } of batches) {
      signal.throwIfAborted();
      // Before any row is selected: a file of mixed indicators is told as such.
      const other = rows.find(({ indicator }) => indicator !== code);
      if (other)
        throw new ResponseError(
          `${reference}: a row of ${other.indicator || 'no indicator'} instead of ${code}`,
        );
      for (const row of rows) {
        const { splitCodes, excluded } = select(row);
        const key = splitCodes.join('_');
        const known = series.get(key);
        if (known) known.files.add(reference);
        else series.set(key, { splitCodes, files: new Set([reference]) });
        const observation = toObservation(row, missing);
        if (excluded !== null) observation.other_dimension = excluded;
        spool.add(key, observation);
        date = laterEdition(date, row.date);
      }
      await spool.spill();
    }
    return { spool, series, date };
  } catch (error) {
    await spool[Symbol.asyncDispose]();
    throw error;
  }
}

async function* readRows(
  context: Context,
  indicator: IndicatorSettings,
  label: Label | undefined,
  { spool: collected, series, date }: CollectedRows,
): AsyncIterable<SourceItem> {
  await using spool = collected;
  if (date !== null) yield { kind: 'vintage', vintage: date };
  for (const [key, { splitCodes, files }] of series) {
    const entry = buildEntry(context, indicator, label, splitCodes);
    yield { kind: 'indicator', entry };
    for await (const rows of spool.read(key)) {
      yield { kind: 'observations', slug: entry.slug, rows, files: [...files] };
    }
  }
}

export const whoGho: Connector<WhoGhoSettings> = {
  protocol: 'who-gho',
  settings: whoGhoSettings,
  async *read(context): AsyncIterable<SourceItem> {
    const { indicators, vintage } = context.settings;
    yield { kind: 'plan', indicators: indicators.length };
    const labels = await readLabels(context);
    if (vintage !== undefined) yield { kind: 'vintage', vintage };
    yield* readParts(
      context,
      indicators,
      ({ code }) => codeToSlug(code),
      async (indicator) => {
        const collected = await collectRows(context, indicator);
        return { items: readRows(context, indicator, labels.get(indicator.code), collected) };
      },
    );
  },
};
