/** Reads `aliases.csv`: the former ids of indicators. */
import { existsSync } from 'node:fs';
import { type IndicatorAlias, indicatorAlias } from '../schema/curated.ts';
import type { Problems } from './problems.ts';
import { check, readTable, type TableRow } from './table.ts';

const COLUMNS = ['old', 'new', 'since', 'until'] as const;

/** In file order; none without the file. @param providers the ids that there are; that of an old id may be gone. */
export async function loadAliases(
  file: string,
  providers: ReadonlySet<string>,
  problems: Problems,
): Promise<IndicatorAlias[]> {
  if (!existsSync(file)) return [];
  const found = readTable(file, COLUMNS, [], problems).flatMap((row) => {
    const alias = check(indicatorAlias, row.cells, row, problems);
    return alias === undefined ? [] : [{ alias, row }];
  });
  const lines = new Map<string, number>();
  for (const { alias, row } of found) {
    const first = lines.get(alias.old);
    if (first !== undefined) problems.add(row, `${alias.old} has a new id in line ${first} already`);
    else lines.set(alias.old, row.line);
  }
  for (const { alias, row } of found) checkAlias(alias, row, lines, providers, problems);
  return found.map(({ alias }) => alias);
}

/** @param lines of the old ids. */
function checkAlias(
  { old, new: next, since, until }: IndicatorAlias,
  row: TableRow<string>,
  lines: ReadonlyMap<string, number>,
  providers: ReadonlySet<string>,
  problems: Problems,
): void {
  const provider = next.slice(0, next.indexOf('.'));
  if (!providers.has(provider)) problems.add(row, `${next}: there is no provider "${provider}"`);
  const line = lines.get(next);
  if (next === old) problems.add(row, `${old} is an alias of itself`);
  else if (line !== undefined)
    problems.add(row, `${next} is itself renamed in line ${line}: name its newest id`);
  if (until !== null && until < since) problems.add(row, `until: ${until} is before ${since}`);
}
