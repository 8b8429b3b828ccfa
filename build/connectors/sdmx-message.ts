/**
 * The header of an SDMX-CSV message and the cells below it.
 *
 * Version 1.0 begins with `DATAFLOW`, 2.0 with `STRUCTURE` (which may carry the sub-field separator, `STRUCTURE[;]`),
 * then `STRUCTURE_ID` and `ACTION`; some services (UNICEF) leave all of these out. The separator of fields is the
 * character after that first word. Components are found by their exact id, because the label column beside a code
 * column may differ from it by case only (`INDICATOR`, `Indicator`). Labels come in three ways:
 *
 * - `labels=id`: none;
 * - `labels=both`: header `ID: Name`, cells `CODE: Label`;
 * - `labels=name`: a column of its own after each code column. It is recognised by `STRUCTURE_NAME` in the header, or
 *   by a name with lower-case letters after an id without any.
 *
 * Source: the SDMX-CSV field guides for 1.0 and 2.0 (github.com/sdmx-twg/sdmx-csv).
 */

import type { RawObservation } from './connector.ts';
import { CsvError, sniffDelimiter } from './csv.ts';
import { codeToSlug, toSlug } from './plain-text.ts';
import type { SdmxFile, SdmxSettings } from './sdmx-csv.ts';

/** Columns that are about the message, not components of the data. */
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

export interface Component {
  id: string;
  index: number;
  /** The column of its labels, or -1. */
  label: number;
  /** Cells hold `CODE: Label`. */
  both: boolean;
}

/** The field separator, by the rule of the format; services that leave the first column out are sniffed. */
export function sdmxDelimiter(headerLine: string): string {
  const first = /^"?(?:DATAFLOW|STRUCTURE)(?:\[[^\]]*\])?"?([^\w\s"])/.exec(headerLine);
  return first?.[1] && first[1] !== ':' ? first[1] : sniffDelimiter(headerLine);
}

const WITH_NAME = /^([A-Za-z_@$][\w@$.-]*(?:\[[^\]]*\])*)\s*:\s*\S/;
const withoutBrackets = (id: string): string => id.replaceAll(/\[[^\]]*\]/g, '');

export class SdmxHeader {
  readonly #components = new Map<string, Component>();
  readonly #ids: string[];

  constructor(header: readonly string[]) {
    const bare = header.map((cell) => cell.trim());
    const named = bare.includes('STRUCTURE_NAME');
    const labels = new Set<number>();
    for (const [index, cell] of bare.entries()) {
      if (labels.has(index)) continue;
      const name = WITH_NAME.exec(cell);
      const id = withoutBrackets(name?.[1] ?? cell);
      const next = bare[index + 1] ?? '';
      const isMessage = MESSAGE_COLUMNS.has(id);
      const hasLabel =
        !isMessage && (named || (/[A-Z]/.test(id) && !/[a-z]/.test(id) && /[a-z]/.test(next) && !name));
      if (hasLabel) labels.add(index + 1);
      if (this.#components.has(id)) continue;
      this.#components.set(id, { id, index, label: hasLabel ? index + 1 : -1, both: name !== null });
    }
    this.#ids = [...this.#components.keys()];
  }

  /** The component with exactly this id. @throws {CsvError} listing the ids that there are. */
  require(id: string): Component {
    const found = this.#components.get(id);
    if (found) return found;
    throw new CsvError(`no column ${id}; there are: ${this.#ids.join(', ')}`);
  }

  /** The component that a definition names (then it must be there), or the first of the usual ids, or none. */
  find(wanted: string | undefined, usual: readonly string[]): Component | null {
    if (wanted !== undefined) return this.require(wanted);
    for (const id of usual) {
      const found = this.#components.get(id);
      if (found) return found;
    }
    return null;
  }

  /** As `find`, for what no message can be read without. */
  demand(what: string, wanted: string | undefined, usual: readonly string[]): Component {
    const found = this.find(wanted, usual);
    if (found) return found;
    throw new CsvError(`no ${what} column (${usual.join(', ')}); there are: ${this.#ids.join(', ')}`);
  }

  has(id: string): boolean {
    return this.#components.has(id);
  }

  /** The components left of a column: where services write the dimensions. */
  before(index: number): Component[] {
    return [...this.#components.values()].filter((one) => one.index < index && !MESSAGE_COLUMNS.has(one.id));
  }
}

/** The code in a cell: all of it, or what stands before `: ` where cells carry labels. */
export function cellCode(cells: readonly string[], component: Component | null): string {
  if (!component) return '';
  const cell = cells[component.index]?.trim() ?? '';
  if (!component.both) return cell;
  const colon = cell.indexOf(': ');
  return colon < 0 ? cell : cell.slice(0, colon);
}

/** The label of a cell's code, or null where the message has none. */
export function cellLabel(cells: readonly string[], component: Component | null): string | null {
  if (!component) return null;
  if (component.label >= 0) return cells[component.label]?.trim() || null;
  const cell = cells[component.index]?.trim() ?? '';
  const colon = cell.indexOf(': ');
  return component.both && colon >= 0 ? cell.slice(colon + 2) : null;
}

/** `ESTAT:NAMA_10_PC(1.0): Main aggregates` → `NAMA_10_PC`. */
export function artefactId(cell: string): string | null {
  return /^[\w.-]+:([\w.-]+)/.exec(cell.trim())?.[1] ?? null;
}

/** The localised name after it, or the empty text. */
export function artefactName(cell: string): string {
  return /^[\w.-]+:[\w.-]+(?:\([^)]*\))?:\s(.*)$/s.exec(cell.trim())?.[1]?.trim() ?? '';
}

/**
 * One SDMX-CSV file's rows as observations. Everything that can be known from the header is settled once, so a row
 * costs only its cells; what the settings name and the header lacks is an error that lists the columns.
 */

const PLACES = ['REF_AREA', 'GEO', 'geo', 'LOCATION', 'COUNTRY', 'COU', 'AREA'];
const INDICATORS = ['INDICATOR', 'SERIES', 'MEASURE', 'indicator', 'indicators', 'indic'];
const STATUSES = ['OBS_STATUS', 'OBS_FLAG', 'obs_status'];
const UNITS = ['UNIT_MEASURE', 'UNIT', 'unit'];
const POWERS = ['UNIT_MULT', 'UNIT_MULTIPLIER', 'unit_mult'];
const VINTAGES = ['LAST UPDATE', 'UPDATED', 'PREPARED'];
const DATAFLOWS = ['STRUCTURE_ID', 'DATAFLOW'];

export interface SdmxRow {
  observation: RawObservation;
  /** Codes of the dimensions that the definition leaves open. */
  codes: Record<string, string>;
  unit: string;
  /** UNIT_MULT; 0 where there is none. */
  power: number;
}

export class SdmxReader {
  readonly #settings: SdmxSettings;
  readonly #file: SdmxFile;
  readonly #place: Component;
  readonly #time: Component;
  readonly #value: Component;
  readonly #lower: Component | null;
  readonly #upper: Component | null;
  readonly #status: Component | null;
  readonly #unit: Component | null;
  readonly #power: Component | null;
  readonly #action: Component | null;
  readonly #vintage: Component | null;
  readonly #dataflow: Component | null;
  readonly #name: Component | null;
  readonly #indicator: Component[];
  readonly #pins: { component: Component; codes: ReadonlySet<string> }[];
  readonly #open: Component[];
  readonly #missing: ReadonlySet<string>;
  readonly #forecast: ReadonlySet<string>;
  readonly #year: RegExp | null;
  /** The dimensions of the provider's `pin` that this file has. */
  readonly pinnedIds: string[];

  constructor(header: SdmxHeader, settings: SdmxSettings, file: SdmxFile) {
    this.#settings = settings;
    this.#file = file;
    this.#place = header.demand('place', settings.place, PLACES);
    this.#time = header.require(settings.time);
    this.#value = header.require(settings.value);
    this.#lower = header.find(settings.ci_lo, ['LOWER_BOUND']);
    this.#upper = header.find(settings.ci_hi, ['UPPER_BOUND']);
    this.#status = header.find(settings.status, STATUSES);
    this.#unit = header.find(settings.unit, UNITS);
    this.#power = header.find(undefined, POWERS);
    this.#action = header.find(undefined, ['ACTION']);
    this.#vintage = header.find(undefined, VINTAGES);
    this.#dataflow = header.find(undefined, DATAFLOWS);
    this.#name = header.find(undefined, ['STRUCTURE_NAME']);
    this.#indicator = this.#indicatorOf(header);
    this.pinnedIds = Object.keys(settings.pin).filter((id) => header.has(id));
    const shared = this.pinnedIds.map((id): [string, string[]] => [id, settings.pin[id] ?? []]);
    const pins = new Map([...shared, ...Object.entries(file.pin)]);
    this.#pins = [...pins].map(([id, codes]) => ({ component: header.require(id), codes: new Set(codes) }));
    this.#open = this.#openDimensions(header);
    this.#missing = new Set(settings.missing).add('');
    this.#forecast = new Set(settings.forecast.map((code) => code.toUpperCase()));
    this.#year = settings.year_pattern === undefined ? null : new RegExp(settings.year_pattern, 'u');
  }

  #indicatorOf(header: SdmxHeader): Component[] {
    if (this.#file.slug !== undefined) return [];
    if (this.#settings.indicator) return this.#settings.indicator.map((id) => header.require(id));
    const usual = header.find(undefined, INDICATORS);
    return usual ? [usual] : [];
  }

  #openDimensions(header: SdmxHeader): Component[] {
    const settled = new Set(
      [
        ...[this.#place, this.#time, this.#lower, this.#upper, this.#status, this.#unit, this.#power],
        ...this.#indicator,
        ...this.#pins.map((pin) => pin.component),
      ].map((component) => component?.id),
    );
    return header.before(this.#value.index).filter((one) => !settled.has(one.id));
  }

  #figure(cells: readonly string[], component: Component): string | null {
    const text = cells[component.index]?.trim() ?? '';
    if (this.#missing.has(text)) return null;
    return this.#settings.decimal_comma ? text.replace(',', '.') : text;
  }

  #yearOf(cells: readonly string[]): string {
    const text = cellCode(cells, this.#time);
    return this.#year?.exec(text)?.[1] ?? text;
  }

  /** The row's observation, or null for a row that only carries attributes of part of the key. */
  read(cells: readonly string[]): SdmxRow | null {
    const place = cellCode(cells, this.#place);
    const year = this.#yearOf(cells);
    const value = this.#figure(cells, this.#value);
    if (value === null && (place === '' || year === '')) return null;
    const observation: RawObservation = { place, year, value };
    if (this.#lower) observation.ci_lo = this.#figure(cells, this.#lower);
    if (this.#upper) observation.ci_hi = this.#figure(cells, this.#upper);
    if (this.#status) this.#judge(observation, cellCode(cells, this.#status));
    if (cellCode(cells, this.#action) === 'D') observation.withdrawn = true;
    const pinnedAway = this.#pins.find((pin) => !pin.codes.has(cellCode(cells, pin.component)));
    if (pinnedAway) {
      observation.other_dimension = `${pinnedAway.component.id}=${cellCode(cells, pinnedAway.component)}`;
    }
    const codes: Record<string, string> = {};
    for (const component of this.#open) codes[component.id] = cellCode(cells, component);
    const power = Number(cellCode(cells, this.#power));
    return {
      observation,
      codes,
      unit: cellCode(cells, this.#unit),
      power: Number.isInteger(power) ? power : 0,
    };
  }

  #judge(observation: RawObservation, code: string): void {
    observation.status = describeStatus(code);
    if (isForecast(code, this.#forecast)) observation.projected = true;
  }

  /** Which series a row belongs to: by the codes of the indicator's dimensions, totals beyond the first left out. */
  seriesOf(cells: readonly string[]): { slug: string; codes: string; name: string } {
    const parts = this.#indicator
      .map((component) => ({ code: cellCode(cells, component), label: cellLabel(cells, component) }))
      .filter(({ code }, index) => index === 0 || !this.#settings.total.includes(code));
    const dataflow = cells[this.#dataflow?.index ?? -1] ?? '';
    const fallback = artefactId(dataflow) ?? this.#fileName();
    const slug =
      parts.length > 0 ? parts.map(({ code }) => codeToSlug(code)).join('-') : codeToSlug(fallback);
    const name = parts.map(({ code, label }) => label ?? code).join(', ');
    return {
      slug: this.#file.slug ?? slug,
      codes: this.#file.slug ?? (parts.map(({ code }) => code).join('.') || fallback),
      name: this.#file.name ?? (name || artefactName(dataflow) || this.#structureName(cells) || fallback),
    };
  }

  #structureName(cells: readonly string[]): string {
    return cells[this.#name?.index ?? -1]?.trim() ?? '';
  }

  #fileName(): string {
    const path = this.#file.path.replace(/\?.*$/s, '');
    return toSlug((path.split('/').at(-1) ?? '').replace(/\.csv$/i, ''));
  }

  /** What the row's unit is called, or null where the message has no unit. */
  unitOf(cells: readonly string[]): string | null {
    return this.#file.unit ?? cellLabel(cells, this.#unit) ?? (cellCode(cells, this.#unit) || null);
  }

  /** The dataflow, as a word for the rules of a definition. */
  tagsOf(cells: readonly string[]): string[] {
    const id = artefactId(cells[this.#dataflow?.index ?? -1] ?? '');
    return id === null ? [] : [id];
  }

  vintageOf(cells: readonly string[]): string | null {
    return (this.#vintage && cells[this.#vintage.index]?.trim()) || null;
  }
}

/**
 * What the letters of an observation's status mean: the SDMX code list CL_OBS_STATUS, and Eurostat's and UNICEF's use
 * of it. Combined letters (`bp`, `BEP`) are combined words. Upstream's own code is kept where this table has none.
 */
const STATUS_WORDS: Record<string, string | null> = {
  A: null,
  B: 'break',
  D: 'definition differs',
  E: 'estimated',
  F: 'forecast',
  G: 'experimental',
  H: 'missing',
  I: 'imputed',
  J: 'derogation',
  K: 'included elsewhere',
  L: 'not collected',
  M: 'missing',
  N: 'not significant',
  O: 'missing',
  P: 'provisional',
  Q: 'suppressed',
  R: 'revised',
  S: 'special event',
  U: 'low reliability',
  V: 'unvalidated',
  W: 'includes another category',
  Z: 'not applicable',
  AD: 'adjusted',
  ER: 'external reanalysis',
  LT: 'less than',
  MD: 'modelled',
  PA: 'partial',
  PR: 'projection',
  RA: 'reanalysed',
  RP: 'reported',
  EXCL: 'excluded',
  PRED: 'predicted',
};

/** The status as words, null for a normal value. */
export function describeStatus(code: string): string | null {
  const known = code.toUpperCase();
  if (known === '') return null;
  if (known in STATUS_WORDS) return STATUS_WORDS[known] ?? null;
  const letters = [...known].map((letter) => STATUS_WORDS[letter]);
  return letters.every((word) => word) ? letters.join(', ') : code;
}

/** Whether a status marks a forecast: one of the codes itself, or one of its single letters in a combination. */
export function isForecast(code: string, forecasts: ReadonlySet<string>): boolean {
  const known = code.toUpperCase();
  if (forecasts.has(known) || known in STATUS_WORDS) return forecasts.has(known);
  const letters = [...known];
  return letters.every((letter) => letter in STATUS_WORDS) && letters.some((letter) => forecasts.has(letter));
}
