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
import { CsvError, sniffDelimiter } from './csv-rows.ts';

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
export function codeOf(cells: readonly string[], component: Component | null): string {
  if (!component) return '';
  const cell = cells[component.index]?.trim() ?? '';
  if (!component.both) return cell;
  const colon = cell.indexOf(': ');
  return colon < 0 ? cell : cell.slice(0, colon);
}

/** The label of a cell's code, or null where the message has none. */
export function labelOf(cells: readonly string[], component: Component | null): string | null {
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
