/**
 * The World Health Organization's Global Health Observatory: its OData service, or its older CSV exports.
 *
 * The definition lists the indicators and says, per dimension, which code stands for the whole population (`pin`) or
 * that each code is a series of its own (`split`, codes joined to the slug: `TOBACCO_0000000192_FMLE`). Confidence
 * bounds are kept as upstream gives them. Withdrawn rows, rows of other parts of the population and rows of groups of
 * countries are handed on marked, so that ingestion counts them. An indicator is read whole before its first figure is
 * handed on: one whose paging or layout breaks gives nothing.
 */
import { z } from 'zod';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import type { Connector, ConnectorContext, RawObservation, SourceItem } from './connector.ts';
import { columnIndex, openCsv } from './csv.ts';
import { getText, isNotFound, ResponseError } from './json-body.ts';
import { codeToSlug } from './plain-text.ts';
import { readParts } from './provider-parts.ts';
import { SeriesSpool } from './series-spool.ts';
import {
  COUNTRY,
  fetchCodedCsv,
  fetchOdata,
  fetchOdataPages,
  type GhoRow,
  observationOf,
} from './who-gho-rows.ts';

const codes = z.union([z.string(), z.array(z.string()).min(1)]).transform((value) => [value].flat());
/** Codes by dimension; an empty list stands for rows that do not have the dimension. */
const pins = z.record(
  z.string(),
  z.union([z.string(), z.array(z.string())]).transform((value) => [value].flat()),
);

const indicatorSettings = z.strictObject({
  code: z.string(),
  /** Where its rows are, when not where `path` says. */
  path: z.string().optional(),
  name: z.string().optional(),
  unit: z.string().optional(),
  tags: z.array(z.string()).default([]),
  /** Codes kept, by dimension; wins over the provider's. */
  pin: pins.default({}),
  /** Dimensions of which each code is a series. Codes pinned here or by the provider keep the bare slug. */
  split: codes.default([]),
});

export const whoGhoSettings = z.strictObject({
  format: z.enum(['odata', 'csv']).default('odata'),
  /** Reference of one indicator's rows, a query included. Default: `{code}` of the service, `{code}.csv` of the export. */
  path: z.string().includes('{code}').optional(),
  indicators: z
    .array(z.union([z.string(), indicatorSettings]))
    .min(1)
    .transform((all) =>
      all.map((one) => (typeof one === 'string' ? indicatorSettings.parse({ code: one }) : one)),
    ),
  pin: pins.default({}),
  /** What the codes of split dimensions are called in a name. */
  labels: z
    .record(z.string(), z.string())
    .default({ BTSX: 'both sexes', MLE: 'male', FMLE: 'female', TOTL: 'total', RUR: 'rural', URB: 'urban' }),
  /** A CSV with the names of indicators, for exports; the service has its own list. */
  names: z
    .strictObject({ path: z.string(), code: z.string(), name: z.string(), link: z.string().optional() })
    .optional(),
  /** Texts shown in place of a number that mean "no value", in any case; the empty text is always one. */
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
  /** What this edition is called where rows carry no date. */
  vintage: z.string().optional(),
});
export type WhoGhoSettings = z.infer<typeof whoGhoSettings>;
type Context = ConnectorContext<WhoGhoSettings>;
type IndicatorSettings = z.infer<typeof indicatorSettings>;

interface Label {
  name: string;
  link: string | null;
}

const encodePath = (path: string): string => path.split('/').map(encodeURIComponent).join('/');

/** A query, such as a `$filter`, is written in the definition as it is to be sent. */
function referenceOf(pattern: string, code: string): string {
  const [path = '', ...query] = pattern.split('?');
  const encoded = encodePath(path.replaceAll('{code}', code));
  return [encoded, ...query.map((part) => part.replaceAll('{code}', encodeURIComponent(code)))].join('?');
}

async function namesFromCsv(
  { upstream }: Context,
  names: NonNullable<WhoGhoSettings['names']>,
): Promise<Map<string, Label>> {
  const { header, batches } = await openCsv(await upstream.stream(encodePath(names.path)));
  const code = columnIndex(header, names.code);
  const name = columnIndex(header, names.name);
  const link = names.link === undefined ? -1 : columnIndex(header, names.link);
  const labels = new Map<string, Label>();
  for await (const batch of batches) {
    for (const cells of batch) {
      const text = cells[name]?.trim();
      if (text) labels.set(cells[code] ?? '', { name: text, link: cells[link]?.trim() || null });
    }
  }
  return labels;
}

/** A service like this one need not list its indicators: their codes, or the definition's names, then stand for them. */
async function namesFromService({ upstream }: Context): Promise<Map<string, Label>> {
  const labels = new Map<string, Label>();
  try {
    for await (const values of fetchOdataPages(upstream, 'Indicator')) {
      for (const value of values) {
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

function readLabels(context: Context): Promise<Map<string, Label>> {
  const { names, format } = context.settings;
  if (names) return namesFromCsv(context, names);
  return format === 'odata' ? namesFromService(context) : Promise.resolve(new Map());
}

/** The last bracket of a name is its unit where it says so: "(years)", "(%)", "(per 100 000 population)". */
const unitOf = (name: string): string | null =>
  /\((%[^()]*|per [^()]*|years|kg\/m2|PPP int\. \$|US\$)\)\s*$/i.exec(name)?.[1] ?? null;

function entryOf(
  { settings }: Context,
  indicator: IndicatorSettings,
  label: Label | undefined,
  parts: readonly string[],
): CatalogueEntry {
  const name = (indicator.name ?? label?.name ?? indicator.code).replaceAll(/\s+/g, ' ');
  const told = parts.map((code) => settings.labels[code] ?? code).join(', ');
  return {
    slug: codeToSlug([indicator.code, ...parts].join('_')),
    name: told === '' ? name : `${name}, ${told}`,
    description: null,
    unit: indicator.unit ?? unitOf(name),
    source: null,
    source_url: label?.link ?? null,
    tags: indicator.tags,
    licence: null,
  };
}

interface Gathered {
  spool: SeriesSpool<RawObservation>;
  /** The codes of the split dimensions, by spool key. */
  series: Map<string, string[]>;
}

/** Reads all rows of one indicator into the spool, each under the series it is of. */
async function gather(
  context: Context,
  indicator: IndicatorSettings,
  seen: (edition: string) => void,
): Promise<Gathered> {
  const { settings, upstream, signal } = context;
  const pattern = indicator.path ?? settings.path ?? (settings.format === 'csv' ? '{code}.csv' : '{code}');
  const reference = referenceOf(pattern, indicator.code);
  const sorter = new DimensionSelector({
    pin: { ...settings.pin, ...indicator.pin },
    split: indicator.split,
  });
  const missing = new Set([...settings.missing, ''].map((text) => text.toLowerCase()));
  const gathered: Gathered = { spool: new SeriesSpool(), series: new Map() };
  const read = settings.format === 'csv' ? fetchCodedCsv : fetchOdata;
  try {
    for await (const rows of read(upstream, reference, indicator.code)) {
      signal.throwIfAborted();
      for (const row of rows) {
        const part: Part = sorter.sort(row);
        const key = part.codes.join('_');
        gathered.series.set(key, part.codes);
        const observation = observationOf(row, missing);
        if (part.aside !== null) observation.other_dimension = part.aside;
        gathered.spool.add(key, observation);
        if (row.dated !== null) seen(row.dated);
      }
      await gathered.spool.spill();
    }
    return gathered;
  } catch (error) {
    await gathered.spool.close();
    throw error;
  }
}

async function* read(context: Context): AsyncGenerator<SourceItem, void, undefined> {
  const { indicators } = context.settings;
  yield { kind: 'plan', indicators: indicators.length };
  const labels = await readLabels(context);
  let vintage = context.settings.vintage ?? null;
  const seen = (edition: string): void => {
    if (vintage === null || edition > vintage) vintage = edition;
  };
  yield* readParts(context, indicators, {
    slug: (indicator) => codeToSlug(indicator.code),
    open: async (indicator) => ({ indicator, ...(await gather(context, indicator, seen)) }),
    slugs: ({ indicator }) => [codeToSlug(indicator.code)],
    read: async function* ({ indicator, spool, series }) {
      try {
        for (const [key, parts] of series) {
          const entry = entryOf(context, indicator, labels.get(indicator.code), parts);
          yield { kind: 'indicator', entry };
          for await (const rows of spool.read(key)) yield { kind: 'observations', slug: entry.slug, rows };
        }
      } finally {
        await spool.close();
      }
    },
  });
  if (vintage !== null) yield { kind: 'vintage', vintage };
}

export const whoGho: Connector<WhoGhoSettings> = { protocol: 'who-gho', settings: whoGhoSettings, read };

/**
 * Which part of the population a row of the Global Health Observatory is of, and which series that makes it.
 *
 * A dimension (SEX, AGEGROUP, RESIDENCEAREATYPE, ...) is *pinned* to the codes that stand for the whole population, so
 * rows of other codes are set aside; or *split*, so each code becomes a series of its own. A row that does not have a
 * dimension is of its whole. A dimension that is neither, and takes more than one code, fails the series: its figures
 * would be of several populations under one key.
 */

export interface DimensionRules {
  /** Codes kept, by dimension. With `split` as well, these codes keep the bare slug. */
  pin: Record<string, readonly string[]>;
  split: readonly string[];
}

export interface Part {
  /** What the split dimensions add to the slug: their codes; empty for the whole. */
  codes: string[];
  /** Set when the row is of a part that the definition does not take: `SEX=FMLE`. */
  aside: string | null;
}

/** Where a figure was found is not whom it is of. */
const NOT_A_PART = new Set(['DATASOURCE']);

/** Sorts the rows of one indicator. */
export class DimensionSelector {
  readonly #rules: DimensionRules;
  /** The code that each free dimension took first; the empty text where rows have none. */
  readonly #free = new Map<string, string>();
  #rows = 0;

  constructor(rules: DimensionRules) {
    this.#rules = rules;
  }

  /** @throws {ResponseError} when rows differ by a dimension that the rules do not mention. */
  sort(row: GhoRow): Part {
    const { pin, split } = this.#rules;
    const codes: string[] = [];
    for (const dimension of split) {
      const code = row.dimensions.get(dimension);
      if (code !== undefined && !pin[dimension]?.includes(code)) codes.push(code);
    }
    for (const [dimension, kept] of Object.entries(pin)) {
      const code = row.dimensions.get(dimension);
      if (code !== undefined && !split.includes(dimension) && !kept.includes(code)) {
        return { codes, aside: `${dimension}=${code}` };
      }
    }
    if (row.place_type === COUNTRY) this.#checkFree(row);
    return { codes, aside: null };
  }

  #checkFree(row: GhoRow): void {
    const { pin, split } = this.#rules;
    const isFree = (dimension: string): boolean =>
      !(dimension in pin) && !split.includes(dimension) && !NOT_A_PART.has(dimension);
    for (const dimension of [...this.#free.keys(), ...row.dimensions.keys()]) {
      if (!isFree(dimension)) continue;
      const code = row.dimensions.get(dimension) ?? '';
      const first = this.#free.get(dimension) ?? (this.#rows === 0 ? code : '');
      this.#free.set(dimension, first);
      if (code === first) continue;
      const told = [first, code].map((one) => one || 'none').join(' and ');
      throw new ResponseError(`rows differ by ${dimension} (${told}), which is neither pinned nor split`);
    }
    this.#rows += 1;
  }
}
