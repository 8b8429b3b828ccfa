/** Reading a whole history, page by page. */
import type { Gap } from '../archive/entries.ts';

interface PageOf<Entry> {
  /** Newest first. */
  entries: Entry[];
  /** Unreadable entries that follow; null if nothing is missing. */
  gap: Gap | null;
}

/** All entries, newest first; gaps stand where entries cannot be read. */
export async function* readAllPages<Entry extends { id: string }>(
  readPage: (query: { limit: number; before?: string }) => Promise<PageOf<Entry>>,
  limit: number,
): AsyncGenerator<Entry | Gap> {
  for (let before: string | null | undefined; before !== null; ) {
    const { entries, gap } = await readPage({ limit, ...(before !== undefined && { before }) });
    yield* entries;
    if (gap) yield gap;
    const last = entries.length < limit ? null : (entries.at(-1)?.id ?? null);
    before = gap ? gap.before : last;
  }
}
