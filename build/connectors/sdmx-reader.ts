/**
 * One SDMX-CSV file's rows as observations. Everything that can be known from the header is settled once, so a row
 * costs only its cells; what the settings name and the header lacks is an error that lists the columns.
 */
import type { RawObservation } from './connector.ts';
import { slugOf, slugOfCode } from './plain-text.ts';
import { artefactId, artefactName, type Component, codeOf, labelOf, type SdmxHeader } from './sdmx-header.ts';
import type { SdmxFile, SdmxSettings } from './sdmx-settings.ts';
import { isForecast, statusWords } from './sdmx-status.ts';

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
    const text = codeOf(cells, this.#time);
    return this.#year?.exec(text)?.[1] ?? text;
  }

  /** The row's observation, or null for a row that only carries attributes of part of the key. */
  read(cells: readonly string[]): SdmxRow | null {
    const place = codeOf(cells, this.#place);
    const year = this.#yearOf(cells);
    const value = this.#figure(cells, this.#value);
    if (value === null && (place === '' || year === '')) return null;
    const observation: RawObservation = { place, year, value };
    if (this.#lower) observation.ci_lo = this.#figure(cells, this.#lower);
    if (this.#upper) observation.ci_hi = this.#figure(cells, this.#upper);
    if (this.#status) this.#judge(observation, codeOf(cells, this.#status));
    if (codeOf(cells, this.#action) === 'D') observation.withdrawn = true;
    const pinnedAway = this.#pins.find((pin) => !pin.codes.has(codeOf(cells, pin.component)));
    if (pinnedAway) {
      observation.other_dimension = `${pinnedAway.component.id}=${codeOf(cells, pinnedAway.component)}`;
    }
    const codes: Record<string, string> = {};
    for (const component of this.#open) codes[component.id] = codeOf(cells, component);
    const power = Number(codeOf(cells, this.#power));
    return {
      observation,
      codes,
      unit: codeOf(cells, this.#unit),
      power: Number.isInteger(power) ? power : 0,
    };
  }

  #judge(observation: RawObservation, code: string): void {
    observation.status = statusWords(code);
    if (isForecast(code, this.#forecast)) observation.projected = true;
  }

  /** Which series a row belongs to: by the codes of the indicator's dimensions, totals beyond the first left out. */
  seriesOf(cells: readonly string[]): { slug: string; codes: string; name: string } {
    const parts = this.#indicator
      .map((component) => ({ code: codeOf(cells, component), label: labelOf(cells, component) }))
      .filter(({ code }, index) => index === 0 || !this.#settings.total.includes(code));
    const dataflow = cells[this.#dataflow?.index ?? -1] ?? '';
    const fallback = artefactId(dataflow) ?? this.#fileName();
    const slug =
      parts.length > 0 ? parts.map(({ code }) => slugOfCode(code)).join('-') : slugOfCode(fallback);
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
    return slugOf((path.split('/').at(-1) ?? '').replace(/\.csv$/i, ''));
  }

  /** What the row's unit is called, or null where the message has no unit. */
  unitOf(cells: readonly string[]): string | null {
    return this.#file.unit ?? labelOf(cells, this.#unit) ?? (codeOf(cells, this.#unit) || null);
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
