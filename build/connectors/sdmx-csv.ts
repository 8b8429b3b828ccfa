/**
 * SDMX-CSV 1.0 and 2.0, as statistical offices and UN agencies serve it.
 *
 * A message is flat: one row an observation, a column each dimension, measure and attribute. The definition says which
 * dimensions name a series and to which code the others are pinned; a dimension that has a code for the whole
 * population (`_T`) and is not pinned is pinned to that; rows of other parts are handed on as such, to be counted. A series whose rows then still differ in unit, or in their
 * power of ten, fails with what to pin. Figures are never rescaled unless the definition asks for it.
 * Rows of one series are gathered over all files of the provider, for services answer by country, not by series.
 */

import { z } from 'zod';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import type { Connector, ConnectorContext, RawObservation, SourceItem } from './connector.ts';
import { CsvError, openCsv } from './csv.ts';
import { plainText, toSlug } from './plain-text.ts';
import { readParts } from './provider-parts.ts';
import { SdmxHeader, SdmxReader, type SdmxRow, sdmxDelimiter } from './sdmx-message.ts';
import { SeriesSpool } from './series-spool.ts';
import { pattern } from './table-columns.ts';

/**
 * What a definition can say of an SDMX-CSV provider. The least is a list of files; everything else has the default that
 * the standard's own concept ids suggest.
 */

const codes = z.union([z.string(), z.array(z.string()).min(1)]).transform((value) => [value].flat());
const pins = z.record(z.string(), codes);

const fileSettings = z.strictObject({
  /** A reference relative to the origin, query included: a data query of the service, or a file. */
  path: z.string(),
  /** The whole file is one series of this slug. */
  slug: z.string().optional(),
  name: z.string().optional(),
  unit: z.string().optional(),
  tags: z.array(z.string()).default([]),
  /** Codes to keep, by dimension, in this file. */
  pin: pins.default({}),
});
export type SdmxFile = z.infer<typeof fileSettings>;

export const sdmxSettings = z.strictObject({
  files: z
    .array(z.union([z.string(), fileSettings]))
    .min(1)
    .transform((files) =>
      files.map((one) => (typeof one === 'string' ? fileSettings.parse({ path: one }) : one)),
    ),
  /**
   * The dimensions whose codes make a series; several are joined. Default: INDICATOR, SERIES or MEASURE; a message
   * without any is one series, its dataflow.
   */
  indicator: codes.optional(),
  place: z.string().optional(),
  time: z.string().default('TIME_PERIOD'),
  value: z.string().default('OBS_VALUE'),
  ci_lo: z.string().optional(),
  ci_hi: z.string().optional(),
  status: z.string().optional(),
  unit: z.string().optional(),
  /** Codes to keep, by dimension, where a file has the dimension. */
  pin: pins.default({}),
  /** Codes for "all of it". A dimension that is not pinned and has such a code is pinned to it. */
  total: z.array(z.string()).default(['_T', 'TOTAL', 'T']),
  /** Statuses that mark a forecast. */
  forecast: z.array(z.string()).default(['F', 'PR', 'PRED']),
  /**
   * UNIT_MULT says by which power of ten figures are to be multiplied. `keep` leaves the figures as they are and puts
   * the scale into the unit; `apply` multiplies.
   */
  multiplier: z.enum(['keep', 'apply']).default('keep'),
  decimal_comma: z.boolean().default(false),
  /** Takes the year out of TIME_PERIOD: a regular expression with one group, such as `^(\d{4})-12-31$`. */
  year_pattern: pattern.optional(),
  /** Texts that mean "no value"; the empty text is always one. */
  missing: z.array(z.string()).default(['NaN', ':', '-']),
});
export type SdmxSettings = z.infer<typeof sdmxSettings>;

type Context = ConnectorContext<SdmxSettings>;

/** A series as it is gathered: how it is called, and which codes its unpinned dimensions take. */
interface Series {
  slug: string;
  /** The codes that the slug was made of. */
  key: string;
  name: string;
  tags: string[];
  /** What each unit code is called. */
  units: Map<string, string | null>;
  codes: Map<string, Set<string>>;
  /** Whether any row is of the part of the population that the definition takes. */
  taken: boolean;
}

/** Codes remembered of one dimension; one with more is not a breakdown. */
const MOST_CODES = 1_000;
const SCALES: Record<string, string> = { 3: 'thousands', 6: 'millions', 9: 'billions', 12: 'trillions' };

/** The rows of all files by series. */
class Gathering {
  readonly series = new Map<string, Series>();
  readonly spool = new SeriesSpool<SdmxRow>();
  readonly pinned = new Set<string>();
  /** Series that a file broke off in, with the reason: part of a series is worse than none. */
  readonly broken = new Map<string, string>();
  vintage: string | null = null;

  /** Takes one file's rows. @throws {CsvError} when the file is not SDMX-CSV of the expected structure. */
  async take(context: Context, file: SdmxFile): Promise<void> {
    const { settings, upstream, signal } = context;
    const table = await openCsv(await upstream.stream(file.path), { delimiter: sdmxDelimiter });
    const reader = new SdmxReader(new SdmxHeader(table.header), settings, file);
    for (const id of reader.pinnedIds) this.pinned.add(id);
    const touched = new Set<string>();
    try {
      for await (const batch of table.batches) {
        signal.throwIfAborted();
        this.vintage ??= reader.vintageOf(batch[0] ?? []);
        for (const cells of batch) this.#takeRow(reader, cells, file, touched);
        await this.spool.spill();
      }
    } catch (error) {
      for (const slug of touched)
        this.broken.set(slug, error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  #takeRow(reader: SdmxReader, cells: readonly string[], file: SdmxFile, touched: Set<string>): void {
    const row = reader.read(cells);
    if (row === null) return;
    const { slug, codes, name } = reader.seriesOf(cells);
    touched.add(slug);
    const pinnedAway = row.observation.other_dimension !== undefined;
    let series = this.series.get(slug);
    if (!series) {
      const tags = [...file.tags, ...reader.tagsOf(cells)];
      series = { slug, key: codes, name, tags, units: new Map(), codes: new Map(), taken: false };
      this.series.set(slug, series);
    }
    if (series.key !== codes)
      this.broken.set(slug, `${series.key} and ${codes} would both be called "${slug}"`);
    if (!series.units.has(row.unit)) series.units.set(row.unit, reader.unitOf(cells));
    if (!pinnedAway) series.taken = true;
    for (const [id, code] of pinnedAway ? [] : Object.entries(row.codes)) {
      const known = series.codes.get(id);
      if (!known) series.codes.set(id, new Set([code]));
      else if (known.size < MOST_CODES) known.add(code);
    }
    this.spool.add(slug, row);
  }
}

/** The dimensions of a series that the definition leaves open and that have a code for the whole. */
function totalsOf(series: Series, totals: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const [id, codes] of series.codes) {
    const total = totals.find((code) => codes.has(code));
    if (total !== undefined && codes.size > 1) found.set(id, total);
  }
  return found;
}

/** Which part of the population a row is of when it is not the one that is taken, as `SEX=F`; otherwise null. */
function otherPart(row: SdmxRow, totals: ReadonlyMap<string, string>): string | null {
  if (row.observation.other_dimension !== undefined) return row.observation.other_dimension;
  const other = Object.entries(row.codes).find(([id, code]) => (totals.get(id) ?? code) !== code);
  return other ? `${other[0]}=${other[1]}` : null;
}

function observationOf(row: SdmxRow, totals: ReadonlyMap<string, string>, apply: boolean): RawObservation {
  const observation = apply ? scaledRow(row) : row.observation;
  const other = otherPart(row, totals);
  return other === null ? observation : { ...observation, other_dimension: other };
}

function scaled(value: RawObservation['value'] | undefined, power: number): RawObservation['value'] {
  const parts = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:e([+-]?\d+))?$/i.exec(String(value ?? ''));
  return parts ? Number(`${parts[1]}e${Number(parts[2] ?? 0) + power}`) : (value ?? null);
}

/** Multiplies a figure and its bounds: through the decimal text, so that 12.4 millions are 12400000 and nothing else. */
function scaledRow(row: SdmxRow): RawObservation {
  const { observation, power } = row;
  if (power === 0) return observation;
  const { ci_lo, ci_hi, ...rest } = observation;
  return {
    ...rest,
    value: scaled(observation.value, power),
    ...(ci_lo === undefined ? {} : { ci_lo: scaled(ci_lo, power) }),
    ...(ci_hi === undefined ? {} : { ci_hi: scaled(ci_hi, power) }),
  };
}

function unitWith(unit: string | null, power: number): string | null {
  if (power === 0) return unit;
  const scale = SCALES[power] ?? `10^${power}`;
  return unit === null ? scale : `${unit} (${scale})`;
}

/** Looks over the rows that stay: one unit, and one power of ten unless it is applied. @throws {CsvError} otherwise. */
async function unitOf(gathering: Gathering, series: Series, settings: SdmxSettings): Promise<string | null> {
  const units = new Set<string>();
  const powers = new Set<number>();
  const totals = totalsOf(series, settings.total);
  for await (const rows of gathering.spool.read(series.slug)) {
    for (const row of rows.filter((one) => otherPart(one, totals) === null)) {
      units.add(row.unit);
      powers.add(row.power);
    }
  }
  if (units.size > 1)
    throw new CsvError(`several units (${[...units].join(', ')}): pin the unit's dimension to one`);
  const unit = series.units.get(units.values().next().value ?? '') ?? null;
  if (settings.multiplier === 'apply') return unit;
  if (powers.size > 1) {
    throw new CsvError(
      `several powers of ten (${[...powers].join(', ')}): pin one, or let the multiplier apply`,
    );
  }
  return unitWith(unit, powers.values().next().value ?? 0);
}

async function* readSeries(
  context: Context,
  gathering: Gathering,
  series: Series,
): AsyncGenerator<SourceItem, void, undefined> {
  const { settings, log } = context;
  const { slug, tags } = series;
  const totals = totalsOf(series, settings.total);
  const apply = settings.multiplier === 'apply';
  if (totals.size > 0) log.debug({ slug, totals: Object.fromEntries(totals) }, 'pinned to the whole');
  const unit = plainText(await unitOf(gathering, series, settings));
  const name = plainText(series.name) ?? slug;
  const entry: CatalogueEntry = {
    slug,
    name,
    description: null,
    unit,
    source: null,
    source_url: null,
    tags,
    licence: null,
  };
  yield { kind: 'indicator', entry };
  for await (const rows of gathering.spool.read(slug)) {
    yield { kind: 'observations', slug, rows: rows.map((row) => observationOf(row, totals, apply)) };
  }
}

export const sdmxCsv: Connector<SdmxSettings> = {
  protocol: 'sdmx-csv',
  settings: sdmxSettings,
  async *read(context) {
    const gathering = new Gathering();
    try {
      const failures: SourceItem[] = [];
      const files = readParts(context, context.settings.files, {
        slug: (file) => file.slug ?? toSlug(file.path),
        open: (file) => gathering.take(context, file),
        slugs: () => [],
        read: () => [],
      });
      for await (const item of files) failures.push(item);
      const unused = Object.keys(context.settings.pin).filter((id) => !gathering.pinned.has(id));
      if (unused.length > 0) throw new CsvError(`pinned, but in no file: ${unused.join(', ')}`);
      if (gathering.vintage) yield { kind: 'vintage', vintage: gathering.vintage };
      const taken = [...gathering.series.values()].filter((series) => series.taken);
      yield { kind: 'plan', indicators: taken.length };
      for (const series of taken) yield* tryReading(context, gathering, series);
      yield* failures;
    } finally {
      await gathering.spool.close();
    }
  },
};

/** One series, or why it cannot be had. */
async function* tryReading(
  context: Context,
  gathering: Gathering,
  series: Series,
): AsyncGenerator<SourceItem, void, undefined> {
  const broken = gathering.broken.get(series.slug);
  try {
    if (broken !== undefined) throw new CsvError(broken);
    yield* readSeries(context, gathering, series);
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    yield { kind: 'failed', slug: series.slug, reason: error.message };
  }
}
