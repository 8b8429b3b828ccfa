/** Figures of groups of countries, as the build stored them. */
import {
  type EditionGroups,
  GROUPS,
  type GroupColumns,
  groupFiguresFile,
  type StoredGroups,
} from '../../../../data/schema/groups.ts';
import type { SnapshotFiles } from '../files/snapshot-files.ts';

/**
 * Null for an indicator that does not aggregate. A group with a member that is not shown today has no figure.
 * @param isShown null where all members are
 * @throws {SnapshotUnreadable}
 */
export async function readGroupFigures(
  files: SnapshotFiles,
  indicator: string,
  isShown: ((iso3: string) => boolean) | null = null,
): Promise<StoredGroups | null> {
  const stored = await files.json<StoredGroups>(groupFiguresFile(indicator));
  if (stored === undefined || isShown === null) return stored ?? null;
  const known = await files.json<EditionGroups>(GROUPS);
  const hidden = new Set(known?.groups.flatMap(({ id, members }) => (members.every(isShown) ? [] : [id])));
  const groups = Object.entries(stored.groups).map(([id, columns]) => [
    id,
    hidden.has(id) ? withheld(columns) : columns,
  ]);
  return { ...stored, groups: Object.fromEntries(groups) };
}

const withheld = (columns: GroupColumns): GroupColumns => ({
  ...columns,
  value: columns.year.map(() => null),
  counted: columns.year.map(() => 0),
  coverage: columns.year.map(() => 0),
  reason: columns.year.map(() => 'withheld'),
});
