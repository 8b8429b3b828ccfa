/** What a new edition changed of the indicators that somebody uses. */
import type { EditionChanges } from '../../../../data/schema/snapshot.ts';

/** A revised indicator has other figures for the same years; figures of further years are no revision. */
export const CHANGE_KINDS = ['revised', 'renamed', 'withdrawn'] as const;
export type ChangeKind = (typeof CHANGE_KINDS)[number];

export interface ChangedIndicator {
  /** The id by which it was used, or that it got since. */
  indicator: string;
  change: ChangeKind;
  /** Its new id; of a renamed one. */
  to?: string | undefined;
  /** Number of figures that changed, went or came back; of a revised one. */
  figures?: number | undefined;
}

/**
 * Ordered by kind, then by id. One that was renamed and revised is named twice.
 * @param idToday the id that an indicator has today: one that was renamed since its use is followed
 */
export function changedIndicators(
  used: readonly string[],
  changes: Pick<EditionChanges, 'withdrawn' | 'renamed' | 'revised'>,
  idToday: (id: string) => string,
): ChangedIndicator[] {
  const withdrawn = new Set(changes.withdrawn);
  const renamed = new Map(changes.renamed.map(({ from, to }) => [from, to]));
  const found: Record<ChangeKind, ChangedIndicator[]> = { revised: [], renamed: [], withdrawn: [] };
  const names = used.flatMap((id) => (renamed.has(id) ? [id] : [id, idToday(id)]));
  for (const indicator of [...new Set(names)].sort()) {
    const to = renamed.get(indicator);
    const revisions = changes.revised[to ?? indicator];
    const figures = revisions ? revisions.changed + revisions.withdrawn + revisions.restored : 0;
    if (figures > 0) found.revised.push({ indicator, change: 'revised', figures });
    if (to !== undefined) found.renamed.push({ indicator, change: 'renamed', to });
    if (withdrawn.has(indicator)) found.withdrawn.push({ indicator, change: 'withdrawn' });
  }
  return CHANGE_KINDS.flatMap((kind) => found[kind]);
}
