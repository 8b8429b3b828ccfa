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
import { regexSource } from '../../data/schema/curated.ts';
import { splitStatus } from '../../data/schema/records.ts';
import { listOf, type RawObservation, textList } from './connector.ts';
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

/** The components of a message by id, in their order. */
type Components = ReadonlyMap<string, Component>;

function readHeader(header: readonly string[]): Components {
  const names = header.map((cell) => cell.trim());
  const hasStructureName = names.includes('STRUCTURE_NAME');
  const components = new Map<string, Component>();
  const labels = new Set<number>();
  for (const [index, cell] of names.entries()) {
    if (labels.has(index)) continue;
    const named = ID_WITH_NAME.exec(cell);
    const id = (named?.[1] ?? cell).replaceAll(/\[[^\]]*\]/g, '');
    const next = names[index + 1] ?? '';
    const looksLabelled = !/[a-z]/.test(id) && /[A-Z]/.test(id) && /[a-z]/.test(next) && !named;
    const hasLabel = !MESSAGE_COLUMNS.has(id) && (hasStructureName || looksLabelled);
    if (hasLabel) labels.add(index + 1);
    if (components.has(id)) continue;
    components.set(id, { id, index, label: hasLabel ? index + 1 : -1, hasLabelInCell: named !== null });
  }
  return components;
}

/** The component with exactly this id. @throws {CsvError} that lists the ids. */
function requireComponent(components: Components, id: string): Component {
  const found = components.get(id);
  if (found) return found;
  throw new CsvError(`no column ${id}; there are: ${[...components.keys()].join(', ')}`);
}

/** The component that a definition names, which must exist, or the first with a usual id, if any. */
function findComponent(
  components: Components,
  wanted: string | undefined,
  usual: readonly string[],
): Component | undefined {
  if (wanted !== undefined) return requireComponent(components, wanted);
  return usual.map((id) => components.get(id)).find((one) => one !== undefined);
}

const cellText = (cells: readonly string[], component: Component | undefined): string =>
  cells[component?.index ?? -1]?.trim() ?? '';

/** The code in a cell, without its label; empty without the component. */
function cellCode(cells: readonly string[], component: Component | undefined): string {
  const cell = cellText(cells, component);
  const colon = component?.hasLabelInCell ? cell.indexOf(': ') : -1;
  return colon < 0 ? cell : cell.slice(0, colon);
}

/** The label of a cell's code, or null where the message has none. */
function cellLabel(cells: readonly string[], component: Component | undefined): string | null {
  if (!component) return null;
  if (component.label >= 0) return cells[component.label]?.trim() || null;
  const cell = cellText(cells, component);
  const colon = cell.indexOf(': ');
  return component.hasLabelInCell && colon >= 0 ? cell.slice(colon + 2) : null;
}

/** `ESTAT:NAMA_10_PC(1.0): Main aggregates` → `NAMA_10_PC`. */
const artefactId = (cell: string): string | null => /^[\w.-]+:([\w.-]+)/.exec(cell)?.[1] ?? null;

/** `ESTAT:NAMA_10_PC(1.0): Main aggregates` → `Main aggregates`; empty without a name. */
const artefactName = (cell: string): string =>
  /^[\w.-]+:[\w.-]+(?:\([^)]*\))?:\s(.*)$/s.exec(cell)?.[1]?.trim() ?? '';

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

/** What a row says of its series. */
export interface SeriesLabels {
  slug: string;
  /** The codes that the slug was made of. */
  key: string;
  name: string;
  /** The name of the row's unit. */
  unit: string | null;
  /** The dataflow, as subject words for the rules of a definition. */
  tags: string[];
  /** Who collected the row's figure, or null where the message does not say. */
  source: string | null;
}

export interface SdmxReader {
  /** The dimensions of the provider's `pin` that this message has. */
  pinnedIds: string[];
  /** The row's observation, or null for a row with attributes of a partial key only. */
  read(cells: readonly string[]): SdmxRow | null;
  /** The series of a row, by the codes of the indicator's dimensions; totals of further dimensions are left out. */
  readLabels(cells: readonly string[]): SeriesLabels;
  readVintage(cells: readonly string[]): string | null;
}

/** The dimensions whose codes identify a series. */
function findIndicator(components: Components, settings: SdmxSettings): Component[] {
  if (settings.indicator) return settings.indicator.map((id) => requireComponent(components, id));
  const usual = findComponent(components, undefined, INDICATORS);
  return usual ? [usual] : [];
}

function slugOfFile(path: string): string {
  const file = path.replace(/\?.*$/s, '').split('/').at(-1) ?? '';
  return toSlug(file.replace(/\.csv$/i, ''));
}

/** Resolves the columns of one message. @throws {CsvError} for a missing column that is required or that the definition names. */
export function createSdmxReader(
  columns: readonly string[],
  settings: SdmxSettings,
  file: SdmxFile,
): SdmxReader {
  const components = readHeader(columns);
  const find = (wanted: string | undefined, ...usual: string[]) => findComponent(components, wanted, usual);
  const place = find(settings.place, ...PLACES);
  if (!place) {
    const ids = [...components.keys()].join(', ');
    throw new CsvError(`no place column (${PLACES.join(', ')}); there are: ${ids}`);
  }
  const time = requireComponent(components, settings.time);
  const value = requireComponent(components, settings.value);
  const lower = find(settings.ci_lo, 'LOWER_BOUND');
  const upper = find(settings.ci_hi, 'UPPER_BOUND');
  const status = find(settings.status, ...STATUSES);
  const unit = find(settings.unit, ...UNITS);
  const power = find(undefined, ...POWERS);
  const action = find(undefined, 'ACTION');
  const vintage = find(undefined, ...VINTAGES);
  const source = find(undefined, ...SOURCES);
  const dataflow = find(undefined, ...DATAFLOWS);
  const structureName = find(undefined, 'STRUCTURE_NAME');
  const indicator = file.slug === undefined ? findIndicator(components, settings) : [];
  const pinnedIds = Object.keys(settings.pin).filter((id) => components.has(id));
  const shared = pinnedIds.map((id): [string, string[]] => [id, settings.pin[id] ?? []]);
  const pins = [...new Map([...shared, ...Object.entries(file.pin)])].map(([id, codes]) => ({
    component: requireComponent(components, id),
    accepted: new Set(codes),
  }));
  const pinned = pins.map((pin) => pin.component);
  const assigned = [place, time, lower, upper, status, unit, power, ...indicator, ...pinned];
  /** Services write the dimensions left of the value. */
  const open = [...components.values()].filter(
    (one) => one.index < value.index && !MESSAGE_COLUMNS.has(one.id) && !assigned.includes(one),
  );
  const missing = new Set(settings.missing).add('');
  const forecasts = new Set(settings.forecast.map((code) => code.toUpperCase()));
  const yearPattern = settings.year_pattern === undefined ? null : new RegExp(settings.year_pattern, 'u');
  const readFigure = (cells: readonly string[], component: Component): string | null => {
    const text = cellText(cells, component);
    if (missing.has(text)) return null;
    return settings.decimal_comma ? text.replace(',', '.') : text;
  };
  const readPower = (cells: readonly string[]): number => {
    const exponent = Number(cellCode(cells, power));
    return Number.isInteger(exponent) ? exponent : 0;
  };
  return {
    pinnedIds,
    read(cells) {
      const time_period = cellCode(cells, time);
      const observation: RawObservation = {
        place: cellCode(cells, place),
        year: yearPattern?.exec(time_period)?.[1] ?? time_period,
        value: readFigure(cells, value),
      };
      const isKeyed = observation.place !== '' && observation.year !== '';
      if (observation.value === null && !isKeyed) return null;
      if (lower) observation.ci_lo = readFigure(cells, lower);
      if (upper) observation.ci_hi = readFigure(cells, upper);
      const code = cellCode(cells, status);
      if (status) observation.status = (settings.statuses[code] ?? code) || null;
      // One of a combined status (`ef`) is enough.
      if (splitStatus(code).some((one) => forecasts.has(one))) observation.projected = true;
      if (cellCode(cells, action) === 'D') observation.withdrawn = true;
      const excluded = pins.find((pin) => !pin.accepted.has(cellCode(cells, pin.component)))?.component;
      if (excluded) observation.other_dimension = `${excluded.id}=${cellCode(cells, excluded)}`;
      const codes = Object.fromEntries(open.map((component) => [component.id, cellCode(cells, component)]));
      return { observation, codes, unit: cellCode(cells, unit), power: readPower(cells) };
    },
    readLabels(cells) {
      const parts = indicator
        .map((component) => ({ code: cellCode(cells, component), label: cellLabel(cells, component) }))
        .filter(({ code }, index) => index === 0 || !settings.total.includes(code));
      const flow = cellText(cells, dataflow);
      const id = artefactId(flow);
      const fallback = id ?? slugOfFile(file.path);
      const codes = parts.length > 0 ? parts.map(({ code }) => code) : [fallback];
      const name = parts.map(({ code, label }) => label ?? code).join(', ');
      return {
        slug: file.slug ?? codes.map(codeToSlug).join('-'),
        key: file.slug ?? (codes.join('.') || fallback),
        name: file.name ?? (name || artefactName(flow) || cellText(cells, structureName) || fallback),
        unit: file.unit ?? cellLabel(cells, unit) ?? (cellCode(cells, unit) || null),
        tags: [...file.tags, ...(id === null ? [] : [id])],
        source: cellLabel(cells, source) ?? (cellCode(cells, source) || null),
      };
    },
    readVintage: (cells) => cellText(cells, vintage) || null,
  };
}
