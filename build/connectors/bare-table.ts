/** A table that nothing describes: its header names the columns, its first rows tell text from figures. */
import type { CsvTable } from './csv-rows.ts';
import type { DataPackage, PackageField } from './frictionless-package.ts';

const BARE = /\.(csv|tsv)(\.(gz|zip))?$/i;
const LOOKED_AT = 500;
const FIGURE = /^[+-]?[\d.,\s]+(e[+-]?\d+)?\s*%?$/i;

/** Whether a path names a table itself instead of a package that describes one. */
export const isBareTable = (path: string): boolean => BARE.test(path);

/** What a package would say of the file. */
export function packageOf(path: string): DataPackage {
  const file = path.slice(path.lastIndexOf('/') + 1);
  return { name: file.replace(BARE, ''), resources: [{ path: file }] };
}

/** Looks at the first rows. The table that is given back has them still. */
export async function describeTable(table: CsvTable): Promise<{ fields: PackageField[]; table: CsvTable }> {
  const batches = table.batches[Symbol.asyncIterator]();
  const rows: string[][] = [];
  for (let next = await batches.next(); !next.done; next = await batches.next()) {
    rows.push(...next.value);
    if (rows.length >= LOOKED_AT) break;
  }
  const isText = (at: number): boolean => {
    const cells = rows.map((row) => row[at]?.trim() ?? '').filter((cell) => cell !== '');
    return cells.length > 0 && !cells.some((cell) => FIGURE.test(cell));
  };
  const fields = table.header.map((name, at) => ({ name, type: isText(at) ? 'string' : 'any' }));
  async function* again(): AsyncGenerator<string[][], void, undefined> {
    try {
      if (rows.length > 0) yield rows;
      for (let next = await batches.next(); !next.done; next = await batches.next()) yield next.value;
    } finally {
      await batches.return?.();
    }
  }
  return { fields, table: { header: table.header, batches: again() } };
}
