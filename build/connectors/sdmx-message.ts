/**
 * One SDMX-CSV message: the settings that decide how it is read, its header and its rows.
 *
 * Version 1.0 begins with `DATAFLOW`, 2.0 with `STRUCTURE` (which may carry the sub-field separator, `STRUCTURE[;]`),
 * then `STRUCTURE_ID` and `ACTION`; some services (UNICEF) omit all of these. The field separator is the character after
 * that first word. Components are found by their exact id, because a label column may differ from its code column by
 * case only (`INDICATOR`, `Indicator`). Labels come in three forms:
 *
 * - `labels=id`: none;
 * - `labels=both`: header `ID: Name`, cells `CODE: Label`;
 * - `labels=name`: a column after each code column, recognised by `STRUCTURE_NAME` in the header, or by a name with
 *   lower-case letters after an id without any.
 *
 * Source: the SDMX-CSV field guides for 1.0 and 2.0 (github.com/sdmx-twg/sdmx-csv).
 */
import { z } from 'zod';
import { splitStatus } from '../../data/schema/records.ts';
import { listOf, type RawObservation, regexSource, textList } from './connector.ts';
import { CsvError, detectDelimiter } from './csv.ts';
import { codeToSlug, toSlug } from './plain-text.ts';

/** Codes to keep, by dimension. */
const pins = z.record(z.string(), textList);

const fileSettings = z.strictObject({
  /** A reference relative to the origin, query included: a data query of the service, or a file. */
  path: z.string(),
  /** The whole file is one series with this slug. */
  slug: z.string().optional(),
  name: z.string().optional(),
  unit: z.string().optional(),
  tags: z.array(z.string()).default([]),
  /** Applies to this file. */
  pin: pins.default({}),
});
export type SdmxFile = z.infer<typeof fileSettings>;

/** Only `files` is required; the defaults are the usual concept ids of the standard. */
export const sdmxSettings = z.strictObject({
  files: listOf(fileSettings, 'path'),
  /**
   * The dimensions whose codes, joined, identify a series. Default: INDICATOR, SERIES or MEASURE; a message without any
   * is one series, its dataflow.
   */
  indicator: textList.optional(),
  place: z.string().optional(),
  time: z.string().default('TIME_PERIOD'),
  value: z.string().default('OBS_VALUE'),
  ci_lo: z.string().optional(),
  ci_hi: z.string().optional(),
  status: z.string().optional(),
  unit: z.string().optional(),
  /** Applies to the files that have the dimension. */
  pin: pins.default({}),
  /** Codes for the whole population. A dimension that is not pinned and has such a code is pinned to it. */
  total: z.array(z.string()).default(['_T', 'TOTAL', 'T']),
  /** Words for the status codes by which a service means something else than the code list. */
  statuses: z.record(z.string(), z.string()).default({}),
  /** Statuses that mark a forecast, beside those of the code list. */
  forecast: z.array(z.string()).default(['F', 'PR', 'PRED']),
  decimal_comma: z.boolean().default(false),
  /** Extracts the year from TIME_PERIOD: a regular expression with one group, such as `^(\d{4})-12-31$`. */
  year_pattern: regexSource.optional(),
  /** Texts that mean "no value"; the empty text always does. */
  missing: z.array(z.string()).default(['NaN', ':', '-']),
});
export type SdmxSettings = z.infer<typeof sdmxSettings>;

/** Columns about the message, which are not components of the data. */
const MESSAGE_COLUMNS = new Set([
  'DATAFLOW',
  'STRUCTURE',
  'STRUCTURE_ID',
  'STRUCTURE_NAME',
  'ACTION',
  'SERIES_KEY',
  'OBS_KEY',
  'LAST UPDATE',
]);
/** `ID: Name`, the header form of `labels=both`. */
const ID_WITH_NAME = /^([A-Za-z_@$][\w@$.-]*(?:\[[^\]]*\])*)\s*:\s*\S/;

interface Component {
  id: string;
  index: number;
  /** The index of its label column, or -1. */
  label: number;
  /** Whether its cells are `CODE: Label`. */
  hasLabelInCell: boolean;
}

/** The field separator by the rule of the format; detected where services omit the first column. */
export function sdmxDelimiter(headerLine: string): string {
  const first = /^"?(?:DATAFLOW|STRUCTURE)(?:\[[^\]]*\])?"?([^\w\s"])/.exec(headerLine);
  return first?.[1] && first[1] !== ':' ? first[1] : detectDelimiter(headerLine);
}

class SdmxHeader {
  readonly #components = new Map<string, Component>();
  readonly #ids: string[];

  constructor(header: readonly string[]) {
    const names = header.map((cell) => cell.trim());
    const hasStructureName = names.includes('STRUCTURE_NAME');
    const labels = new Set<number>();
    for (const [index, cell] of names.entries()) {
      if (labels.has(index)) continue;
      const named = ID_WITH_NAME.exec(cell);
      const id = (named?.[1] ?? cell).replaceAll(/\[[^\]]*\]/g, '');
      const next = names[index + 1] ?? '';
      const looksLabelled = !/[a-z]/.test(id) && /[A-Z]/.test(id) && /[a-z]/.test(next) && !named;
      const hasLabel = !MESSAGE_COLUMNS.has(id) && (hasStructureName || looksLabelled);
      if (hasLabel) labels.add(index + 1);
      if (this.#components.has(id)) continue;
      const label = hasLabel ? index + 1 : -1;
      this.#components.set(id, { id, index, label, hasLabelInCell: named !== null });
    }
    this.#ids = [...this.#components.keys()];
  }

  /** The component with exactly this id. @throws {CsvError} that lists the ids. */
  require(id: string): Component {
    const found = this.#components.get(id);
    if (found) return found;
    throw new CsvError(`no column ${id}; there are: ${this.#ids.join(', ')}`);
  }

  /** The component that a definition names, which must exist, or the first with a usual id, or null. */
  find(wanted: string | undefined, usual: readonly string[]): Component | null {
    if (wanted !== undefined) return this.require(wanted);
    const id = usual.find((one) => this.#components.has(one));
    return id === undefined ? null : this.require(id);
  }

  /** As `find`, but the component must exist. */
  requireUsual(what: string, wanted: string | undefined, usual: readonly string[]): Component {
    const found = this.find(wanted, usual);
    if (found) return found;
    throw new CsvError(`no ${what} column (${usual.join(', ')}); there are: ${this.#ids.join(', ')}`);
  }

  has(id: string): boolean {
    return this.#components.has(id);
  }

  /** The components left of a column; services write the dimensions there. */
  before(index: number): Component[] {
    return [...this.#components.values()].filter((one) => one.index < index && !MESSAGE_COLUMNS.has(one.id));
  }
}

/** The code in a cell, without its label. */
function cellCode(cells: readonly string[], component: Component | null): string {
  if (!component) return '';
  const cell = cells[component.index]?.trim() ?? '';
  const colon = component.hasLabelInCell ? cell.indexOf(': ') : -1;
  return colon < 0 ? cell : cell.slice(0, colon);
}

/** The label of a cell's code, or null where the message has none. */
function cellLabel(cells: readonly string[], component: Component | null): string | null {
  if (!component) return null;
  if (component.label >= 0) return cells[component.label]?.trim() || null;
  const cell = cells[component.index]?.trim() ?? '';
  const colon = cell.indexOf(': ');
  return component.hasLabelInCell && colon >= 0 ? cell.slice(colon + 2) : null;
}

/** `ESTAT:NAMA_10_PC(1.0): Main aggregates` → `NAMA_10_PC`. */
function artefactId(cell: string): string | null {
  return /^[\w.-]+:([\w.-]+)/.exec(cell.trim())?.[1] ?? null;
}

/** `ESTAT:NAMA_10_PC(1.0): Main aggregates` → `Main aggregates`; empty without a name. */
function artefactName(cell: string): string {
  return /^[\w.-]+:[\w.-]+(?:\([^)]*\))?:\s(.*)$/s.exec(cell.trim())?.[1]?.trim() ?? '';
}

const PLACES = ['REF_AREA', 'GEO', 'geo', 'LOCATION', 'COUNTRY', 'COU', 'AREA'];
const INDICATORS = ['INDICATOR', 'SERIES', 'MEASURE', 'indicator', 'indicators', 'indic'];
const STATUSES = ['OBS_STATUS', 'OBS_FLAG', 'obs_status'];
const UNITS = ['UNIT_MEASURE', 'UNIT', 'unit'];
const POWERS = ['UNIT_MULT', 'UNIT_MULTIPLIER', 'unit_mult'];
const VINTAGES = ['LAST UPDATE', 'UPDATED', 'PREPARED'];
const SOURCES = ['DATA_SOURCE', 'SOURCE', 'SOURCE_DETAIL'];
const DATAFLOWS = ['STRUCTURE_ID', 'DATAFLOW'];

export interface SdmxRow {
  observation: RawObservation;
  /** Codes of the dimensions that the definition leaves open. */
  codes: Record<string, string>;
  unit: string;
  /** UNIT_MULT; 0 without one. */
  power: number;
}

/** The dimensions whose codes identify a series. */
function findIndicator(header: SdmxHeader, settings: SdmxSettings): Component[] {
  if (settings.indicator) return settings.indicator.map((id) => header.require(id));
  const usual = header.find(undefined, INDICATORS);
  return usual ? [usual] : [];
}

/** The components of a message by role. @throws {CsvError} for one that is required and missing. */
function findComponents(header: SdmxHeader, settings: SdmxSettings, file: SdmxFile) {
  return {
    place: header.requireUsual('place', settings.place, PLACES),
    time: header.require(settings.time),
    value: header.require(settings.value),
    lower: header.find(settings.ci_lo, ['LOWER_BOUND']),
    upper: header.find(settings.ci_hi, ['UPPER_BOUND']),
    status: header.find(settings.status, STATUSES),
    unit: header.find(settings.unit, UNITS),
    power: header.find(undefined, POWERS),
    action: header.find(undefined, ['ACTION']),
    vintage: header.find(undefined, VINTAGES),
    source: header.find(undefined, SOURCES),
    dataflow: header.find(undefined, DATAFLOWS),
    structureName: header.find(undefined, ['STRUCTURE_NAME']),
    indicator: file.slug === undefined ? findIndicator(header, settings) : [],
  };
}

/** Reads the rows of one message; resolves its columns once. */
export class SdmxReader {
  readonly #settings: SdmxSettings;
  readonly #file: SdmxFile;
  readonly #components: ReturnType<typeof findComponents>;
  readonly #pins: { component: Component; accepted: ReadonlySet<string> }[];
  /** Dimensions that neither the reader nor the definition assigns a role. */
  readonly #open: Component[];
  readonly #missing: ReadonlySet<string>;
  readonly #forecast: ReadonlySet<string>;
  readonly #yearPattern: RegExp | null;
  /** The dimensions of the provider's `pin` that this message has. */
  readonly pinnedIds: string[];

  /** @throws {CsvError} for a component that the definition names and the header lacks. */
  constructor(columns: readonly string[], settings: SdmxSettings, file: SdmxFile) {
    const header = new SdmxHeader(columns);
    this.#settings = settings;
    this.#file = file;
    this.#components = findComponents(header, settings, file);
    this.pinnedIds = Object.keys(settings.pin).filter((id) => header.has(id));
    const shared = this.pinnedIds.map((id): [string, string[]] => [id, settings.pin[id] ?? []]);
    const pins = new Map([...shared, ...Object.entries(file.pin)]);
    this.#pins = [...pins].map(([id, codes]) => ({
      component: header.require(id),
      accepted: new Set(codes),
    }));
    const { place, time, lower, upper, status, unit, power, indicator, value } = this.#components;
    const pinned = this.#pins.map((pin) => pin.component);
    const assigned = [place, time, lower, upper, status, unit, power, ...indicator, ...pinned];
    this.#open = header.before(value.index).filter((one) => !assigned.includes(one));
    this.#missing = new Set(settings.missing).add('');
    this.#forecast = new Set(settings.forecast.map((code) => code.toUpperCase()));
    this.#yearPattern = settings.year_pattern === undefined ? null : new RegExp(settings.year_pattern, 'u');
  }

  #readFigure(cells: readonly string[], component: Component): string | null {
    const text = cells[component.index]?.trim() ?? '';
    if (this.#missing.has(text)) return null;
    return this.#settings.decimal_comma ? text.replace(',', '.') : text;
  }

  #readYear(cells: readonly string[]): string {
    const text = cellCode(cells, this.#components.time);
    return this.#yearPattern?.exec(text)?.[1] ?? text;
  }

  /** The row's observation, or null for a row with attributes of a partial key only. */
  read(cells: readonly string[]): SdmxRow | null {
    const { lower, upper, status, action, power: powerColumn } = this.#components;
    const place = cellCode(cells, this.#components.place);
    const year = this.#readYear(cells);
    const value = this.#readFigure(cells, this.#components.value);
    if (value === null && (place === '' || year === '')) return null;
    const observation: RawObservation = { place, year, value };
    if (lower) observation.ci_lo = this.#readFigure(cells, lower);
    if (upper) observation.ci_hi = this.#readFigure(cells, upper);
    if (status) {
      const code = cellCode(cells, status);
      observation.status = (this.#settings.statuses[code] ?? code) || null;
      if (isForecast(code, this.#forecast)) observation.projected = true;
    }
    if (cellCode(cells, action) === 'D') observation.withdrawn = true;
    const excluded = this.#pins.find((pin) => !pin.accepted.has(cellCode(cells, pin.component)))?.component;
    if (excluded) observation.other_dimension = `${excluded.id}=${cellCode(cells, excluded)}`;
    const codes: Record<string, string> = {};
    for (const component of this.#open) codes[component.id] = cellCode(cells, component);
    const power = Number(cellCode(cells, powerColumn));
    const unit = cellCode(cells, this.#components.unit);
    return { observation, codes, unit, power: Number.isInteger(power) ? power : 0 };
  }

  /** The series of a row, by the codes of the indicator's dimensions; totals of further dimensions are left out. */
  readSeries(cells: readonly string[]): { slug: string; codes: string; name: string } {
    const parts = this.#components.indicator
      .map((component) => ({ code: cellCode(cells, component), label: cellLabel(cells, component) }))
      .filter(({ code }, index) => index === 0 || !this.#settings.total.includes(code));
    const dataflow = cells[this.#components.dataflow?.index ?? -1] ?? '';
    const fallback = artefactId(dataflow) ?? this.#fileSlug();
    const structureName = cells[this.#components.structureName?.index ?? -1]?.trim();
    const slug =
      parts.length > 0 ? parts.map(({ code }) => codeToSlug(code)).join('-') : codeToSlug(fallback);
    const name = parts.map(({ code, label }) => label ?? code).join(', ');
    return {
      slug: this.#file.slug ?? slug,
      codes: this.#file.slug ?? (parts.map(({ code }) => code).join('.') || fallback),
      name: this.#file.name ?? (name || artefactName(dataflow) || structureName || fallback),
    };
  }

  #fileSlug(): string {
    const path = this.#file.path.replace(/\?.*$/s, '');
    return toSlug((path.split('/').at(-1) ?? '').replace(/\.csv$/i, ''));
  }

  /** The name of the row's unit, or null where the message has no unit. */
  readUnit(cells: readonly string[]): string | null {
    return (
      this.#file.unit ??
      cellLabel(cells, this.#components.unit) ??
      (cellCode(cells, this.#components.unit) || null)
    );
  }

  /** The dataflow, as a subject word for the rules of a definition. */
  readTags(cells: readonly string[]): string[] {
    const id = artefactId(cells[this.#components.dataflow?.index ?? -1] ?? '');
    return id === null ? [] : [id];
  }

  /** Who collected the row's figure, or null where the message does not say. */
  readSource(cells: readonly string[]): string | null {
    const { source } = this.#components;
    return cellLabel(cells, source) ?? (cellCode(cells, source) || null);
  }

  readVintage(cells: readonly string[]): string | null {
    return (this.#components.vintage && cells[this.#components.vintage.index]?.trim()) || null;
  }
}

/** Whether a status, or one of a combined status (`ef`), marks a forecast. */
const isForecast = (code: string, forecasts: ReadonlySet<string>): boolean =>
  splitStatus(code).some((one) => forecasts.has(one));
