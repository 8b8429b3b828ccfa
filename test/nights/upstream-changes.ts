/** Seeded changes of the files in a mirror directory, as statistical offices make them from one night to the next. */
import { existsSync } from 'node:fs';
import { readdir, rename } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { type Random, seededRandom } from '../seeded-random.ts';
import { FigureTable } from './figure-table.ts';

const FIGURE_FILE = /\.(csv|csv\.gz|zip)$/;
/** Datapoint files with other keys than place and year are no series, and concepts have no figures. */
const OTHER_DDF = /ddf--(?!datapoints--.*--by--(geo--time|(country|geo)--year)\.csv)/;
const STATUSES = ['A', 'E', 'P', 'B'];
const AWAY = '.away';

/** What a withdrawal took, to be restored. */
interface Withdrawn {
  file: string;
  key: string;
  /** The column of one figure; null for a whole row. */
  column: number | null;
  cells: string[];
}

/** How many figures of how many files a night changes. */
export interface Extent {
  files: number;
  figures: number;
  /** Whether all files are in one folder of the mirror, so that few providers are read again. */
  oneFolder?: boolean;
}

export class UpstreamChanges {
  readonly #mirror: string;
  readonly #random: Random;
  readonly #withdrawn: Withdrawn[] = [];
  #files: string[] | null = null;

  /** @param mirror a directory that may be written to */
  constructor(mirror: string, seed: number) {
    this.#mirror = mirror;
    this.#random = seededRandom(seed);
  }

  /** Changes values, bounds and statuses, and withdraws and restores figures. */
  async revise({ files, figures, oneFolder = false }: Extent, time_ms: number): Promise<void> {
    const names = await this.#candidates(oneFolder);
    await this.#restore(Math.ceil(figures / 3), new Set(names), time_ms);
    for (const table of await this.#pick(names, files)) {
      for (let count = 0; count < figures; count += 1) {
        const withdraws = this.#random.next() < 0.25;
        if (withdraws) this.#withdraw(table);
        else this.#change(table);
      }
      await table.write(time_ms);
    }
  }

  /** Takes a provider's files away, so that its next run fails. */
  async fail(folder: string): Promise<void> {
    await rename(join(this.#mirror, folder), join(this.#mirror, folder + AWAY));
  }

  async recover(folder: string): Promise<void> {
    await rename(join(this.#mirror, folder + AWAY), join(this.#mirror, folder));
  }

  /** The files that may change: all, or those of a folder with figures. */
  async #candidates(oneFolder: boolean): Promise<string[]> {
    this.#files ??= (await readdir(this.#mirror, { recursive: true }))
      .filter((name) => FIGURE_FILE.test(name) && !OTHER_DDF.test(name))
      .sort();
    if (!oneFolder) return this.#files;
    for (const folder of this.#random.shuffle([...new Set(this.#files.map(folderOf))])) {
      const names = this.#files.filter((name) => folderOf(name) === folder);
      if ((await this.#pick(names, 1)).length > 0) return names;
    }
    return [];
  }

  async #pick(names: readonly string[], count: number): Promise<FigureTable[]> {
    const picked: FigureTable[] = [];
    for (const name of this.#random.shuffle(names)) {
      if (picked.length === count) break;
      const file = join(this.#mirror, name);
      if (!existsSync(file)) continue;
      const table = await FigureTable.read(file);
      if (table.figures.length > 0 && table.rows.length > 0) picked.push(table);
    }
    return picked;
  }

  #change(table: FigureTable): void {
    const row = this.#random.pick(table.rows);
    if (table.status >= 0 && this.#random.next() < 0.3) {
      row[table.status] = this.#random.pick(STATUSES.filter((one) => one !== row[table.status]));
      return;
    }
    const column = this.#random.pick(table.figures);
    row[column] = this.#revised(row[column] ?? '');
  }

  /** A figure up to 5 % nearer to zero, with as many decimals; small counts stay. */
  #revised(text: string): string {
    const value = Number(text);
    if (text === '' || !Number.isFinite(value)) return text;
    const decimals = /\.(\d+)$/.exec(text)?.[1]?.length ?? 0;
    return (value * (1 - 0.05 * this.#random.next())).toFixed(Math.min(decimals, 15));
  }

  #withdraw(table: FigureTable): void {
    if (table.rows.length < 3) return;
    const at = this.#random.between(0, table.rows.length - 1);
    const row = table.rows[at] ?? [];
    const key = table.keyOf(row);
    const takesRow = !table.isWide && this.#random.next() < 0.5;
    const column = takesRow ? null : this.#random.pick(table.figures);
    this.#withdrawn.push({ file: table.file, key, column, cells: [...row] });
    if (column === null) table.rows.splice(at, 1);
    else row[column] = '';
  }

  /** Restores figures of these files that earlier nights withdrew, oldest first; half of them as they were. */
  async #restore(count: number, names: ReadonlySet<string>, time_ms: number): Promise<void> {
    const isRestored = ({ file }: Withdrawn): boolean => names.has(relative(this.#mirror, file));
    for (const one of this.#withdrawn.filter(isRestored).slice(0, count)) {
      this.#withdrawn.splice(this.#withdrawn.indexOf(one), 1);
      const { file, key, column, cells } = one;
      if (!existsSync(file)) continue;
      const table = await FigureTable.read(file);
      const row = table.rows.find((one) => table.keyOf(one) === key);
      if (column === null && row === undefined) table.rows.push(cells);
      if (column !== null && row !== undefined && row[column] === '') {
        const text = cells[column] ?? '';
        row[column] = this.#random.next() < 0.5 ? text : this.#revised(text);
      }
      await table.write(time_ms);
    }
  }
}

const folderOf = (name: string): string => name.split(sep)[0] ?? '';
