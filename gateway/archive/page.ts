/** A page of archived history, and what it says where history cannot be read. */
import type { ArchivedEntry } from './rows.ts';

/** A place where entries lie that cannot be shown: they are lost or damaged, which is no reason to pass over it. */
export interface Gap {
  /** For people: what is missing, and why. */
  says: string;
  /** Id before which older entries can be read again; null when there are none. */
  before: string | null;
}

export interface ArchivedPage {
  /** Newest first. They end at the gap, if there is one. */
  entries: ArchivedEntry[];
  gap: Gap | null;
}

export const damagedPart = (name: string): string =>
  `Part ${name} of the archive cannot be read; entries that lie in it are not shown.`;

export const isGap = (item: object): item is Gap => 'says' in item;
