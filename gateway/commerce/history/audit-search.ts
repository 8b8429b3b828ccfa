/** Searches the audit log, archive included, by person, action and time. */

import type { AuditEntry, AuditLog } from './audit-log.ts';
import type { PageOf } from './entries.ts';

export interface AuditFilter {
  /** Parts of who did it or what it was done to, in any case; an entry matches one of them. Empty for all. */
  people: readonly string[];
  /** Part of the action, such as `order.`. */
  action: string;
  /** Unix milliseconds; the end is not included. */
  from_ms: number;
  to_ms: number;
}

const BATCH = 500;
/** Entries that one search reads; then it ends, with fewer than `limit`, and `next` goes on. */
const MAX_READ = 20_000;

export function matchesFilter(entry: AuditEntry, { people, action, from_ms, to_ms }: AuditFilter): boolean {
  if (entry.at_ms < from_ms || entry.at_ms >= to_ms || !entry.action.includes(action)) return false;
  const searched = `${entry.by}\n${entry.subject}`.toLowerCase();
  return people.length === 0 || people.some((part) => searched.includes(part.toLowerCase()));
}

interface AuditSearchPage extends PageOf<AuditEntry> {
  /** `before` of the next page; null at the end of the log. */
  next: string | null;
}

/** One page of matching entries. */
export async function searchAudit(
  audit: AuditLog,
  filter: AuditFilter,
  { before: start, limit }: { before: string | undefined; limit: number },
): Promise<AuditSearchPage> {
  const entries: AuditEntry[] = [];
  let before = start;
  for (let read = 0; read < MAX_READ; read += BATCH) {
    const page = await audit.page({ limit: BATCH, before });
    for (const entry of page.entries) {
      before = entry.id;
      if (!matchesFilter(entry, filter)) continue;
      if (entries.length === limit) return { entries, gap: null, next: entries.at(-1)?.id ?? null };
      entries.push(entry);
    }
    if (page.gap) return { entries, gap: page.gap, next: page.gap.before };
    if (page.entries.length < BATCH) return { entries, gap: null, next: null };
  }
  return { entries, gap: null, next: before ?? null };
}
