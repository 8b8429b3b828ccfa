/**
 * Reads `territories.csv`: places of which the figure of one may include the other. It is decided by the rows of the series,
 * else by those of its provider, else by those of all providers (`*`).
 */
import { existsSync } from 'node:fs';
import { type Territory, territory } from '../schema/curated.ts';
import type { Spine } from './places.ts';
import { asNumber, check, type Problems, readTable } from './table.ts';

const COLUMNS = Object.keys(territory.shape) as (keyof Territory)[];
const CONTAINED: Record<string, boolean> = { yes: true, no: false };
const EVERY = '*';

/** In file order; none without the file. @param providers the ids that there are */
export function loadTerritories(
  file: string,
  { named }: Pick<Spine, 'named'>,
  providers: ReadonlySet<string>,
  problems: Problems,
): Territory[] {
  if (!existsSync(file)) return [];
  const found: Territory[] = [];
  for (const { cells, ...at } of readTable(file, COLUMNS, [], problems)) {
    const contained = cells.contained === null ? null : (CONTAINED[cells.contained] ?? cells.contained);
    const row = { ...cells, from: asNumber(cells.from), to: asNumber(cells.to), contained };
    const one = check(territory, row, at, problems);
    if (one === undefined) continue;
    const { provider, parent, child } = one;
    const [owner = ''] = provider.split('.', 1);
    if (provider !== EVERY && !providers.has(owner)) problems.add(at, `there is no provider "${owner}"`);
    for (const iso3 of [parent, child])
      if (!named.has(iso3)) problems.add(at, `${iso3}: there is no such country`);
    if (parent === child) problems.add(at, `${parent} does not contain itself`);
    if (found.some((other) => isSamePair(other, one) && overlaps(other, one)))
      problems.add(at, `${parent} and ${child} are decided for these years already`);
    found.push(one);
  }
  return found;
}

const isSamePair = (a: Territory, b: Territory): boolean =>
  a.provider === b.provider && a.parent === b.parent && a.child === b.child;

const overlaps = (a: Territory, b: Territory): boolean => {
  const [first, second] = [yearsOf(a), yearsOf(b)];
  return first.from <= second.to && second.from <= first.to;
};

const yearsOf = ({ from, to }: Territory): { from: number; to: number } => ({
  from: from ?? Number.NEGATIVE_INFINITY,
  to: to ?? Number.POSITIVE_INFINITY,
});
