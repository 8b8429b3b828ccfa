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
import { encodePath, isNotFound } from '../upstream/upstream.ts';
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
  missing: z
    .array(z.string())
    .default([
      'No data',
      'Not available',
      'Not applicable',
      'Data not available',
      'NA',
      '…',
      '...',
      '.',
      '-',
      '–',
    ]),
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

/**
 * Assigns the rows of one indicator to parts of the population. A row without a dimension is for all of it. Rows that
 * differ by a dimension that is neither pinned nor split fail the series: they would mix populations under one key.
 */
class DimensionSelector {
  readonly #pin: Record<string, readonly string[]>;
  readonly #split: readonly string[];
  /** The first code of each free dimension; empty where rows have none. */
  readonly #firstCodes = new Map<string, string>();
  #rows = 0;

  constructor(pin: Record<string, readonly string[]>, split: readonly string[]) {
    this.#pin = pin;
    this.#split = split;
  }

  /** @throws {ResponseError} when country rows differ by a free dimension. */
  select(row: GhoRow): Selection {
    const splitCodes: string[] = [];
    for (const dimension of this.#split) {
      const code = row.dimensions.get(dimension);
      if (code !== undefined && !this.#pin[dimension]?.includes(code)) splitCodes.push(code);
    }
    for (const [dimension, accepted] of Object.entries(this.#pin)) {
      const code = row.dimensions.get(dimension);
      if (code !== undefined && !this.#split.includes(dimension) && !accepted.includes(code)) {
        return { splitCodes, excluded: `${dimension}=${code}` };
      }
    }
    if (row.placeType === COUNTRY) this.#checkFreeDimensions(row);
    return { splitCodes, excluded: null };
  }

  #checkFreeDimensions(row: GhoRow): void {
    for (const dimension of [...this.#firstCodes.keys(), ...row.dimensions.keys()]) {
      const isSettled = dimension in this.#pin || this.#split.includes(dimension);
      if (isSettled || OTHER_DIMENSIONS.has(dimension)) continue;
      const code = row.dimensions.get(dimension) ?? '';
      const first = this.#firstCodes.get(dimension) ?? (this.#rows === 0 ? code : '');
      this.#firstCodes.set(dimension, first);
      if (code === first) continue;
      const codes = [first, code].map((one) => one || 'none').join(' and ');
      throw new ResponseError(`rows differ by ${dimension} (${codes}), which is neither pinned nor split`);
    }
    this.#rows += 1;
  }
}

interface Label {
  name: string;
  link: string | null;
}

/** The names of indicators by code. */
async function readLabels(context: Context): Promise<Map<string, Label>> {
  const { names, format } = context.settings;
  if (names) return readLabelsFromCsv(context, names);
  return format === 'odata' ? readLabelsFromService(context) : new Map();
}

async function readLabelsFromCsv(
  { upstream }: Context,
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

/** A service without a list of indicators is accepted: codes, or the definition's names, then serve as names. */
async function readLabelsFromService({ upstream }: Context): Promise<Map<string, Label>> {
  const labels = new Map<string, Label>();
  try {
    for await (const { rows } of fetchOdataPages(upstream, 'Indicator')) {
      for (const value of rows) {
        const code = getText(value, 'IndicatorCode');
        const name = getText(value, 'IndicatorName');
        if (code !== null && name !== null) labels.set(code, { name, link: null });
      }
    }
  } catch (error) {
    if (!isNotFound(error)) throw error;
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
  spool: SeriesSpool<RawObservation>;
  /** By spool key. */
  series: Map<string, SplitSeries>;
  /** When upstream last changed a row. */
  date: string | null;
}

/** Reads all rows of one indicator into the spool. */
async function collectRows(
  { settings, upstream, signal }: Context,
  indicator: IndicatorSettings,
): Promise<CollectedRows> {
  const isCsv = settings.format === 'csv';
  const pattern = indicator.path ?? settings.path ?? (isCsv ? '{code}.csv' : '{code}');
  const reference = expandReference(pattern, indicator.code);
  const selector = new DimensionSelector({ ...settings.pin, ...indicator.pin }, indicator.split);
  const missing = new Set([...settings.missing, ''].map((text) => text.toLowerCase()));
  const spool = new SeriesSpool<RawObservation>();
  const series = new Map<string, SplitSeries>();
  let date: string | null = null;
  try {
    const batches = (isCsv ? fetchCodedCsv : fetchOdata)(upstream, reference, indicator.code);
    for await (const { rows, reference: file } of batches) {
      signal.throwIfAborted();
      for (const row of rows) {
        const { splitCodes, excluded } = selector.select(row);
        const key = splitCodes.join('_');
        const known = series.get(key);
        if (known) known.files.add(file);
        else series.set(key, { splitCodes, files: new Set([file]) });
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

export const whoGho: Connector<WhoGhoSettings> = {
  protocol: 'who-gho',
  settings: whoGhoSettings,
  async *read(context): AsyncIterable<SourceItem> {
    const { indicators } = context.settings;
    yield { kind: 'plan', indicators: indicators.length };
    const labels = await readLabels(context);
    const { vintage } = context.settings;
    if (vintage !== undefined) yield { kind: 'vintage', vintage };
    yield* readParts(context, indicators, {
      slug: (indicator) => codeToSlug(indicator.code),
      open: async (indicator) => ({ indicator, ...(await collectRows(context, indicator)) }),
      slugs: ({ indicator }) => [codeToSlug(indicator.code)],
      async *read({ indicator, spool: opened, series, date }) {
        await using spool = opened;
        if (date !== null) yield { kind: 'vintage', vintage: date };
        for (const [key, { splitCodes, files: named }] of series) {
          const files = [...named];
          const entry = buildEntry(context, indicator, labels.get(indicator.code), splitCodes);
          yield { kind: 'indicator', entry };
          for await (const rows of spool.read(key)) {
            yield { kind: 'observations', slug: entry.slug, rows, files };
          }
        }
      },
    });
  },
};
