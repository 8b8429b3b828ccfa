/** Which edition was served when, by the publication log. */
import type { LogEntry } from './snapshot.ts';

/**
 * The served edition and those before it, oldest first. Rolled-back ones are left out. Editions that were made from the
 * lake afterwards come before the first one that was published.
 */
export function servedChain(log: readonly LogEntry[], served: string): LogEntry[] {
  const byId = new Map(log.map((entry) => [entry.edition, entry]));
  const chain: LogEntry[] = [];
  for (let entry = byId.get(served); entry; entry = byId.get(entry.base ?? '')) {
    byId.delete(entry.edition);
    chain.unshift(entry);
  }
  const first_ms = chain[0] ? publishedMs(chain[0]) : 0;
  const before = [...byId.values()].filter((entry) => entry.backfilled && publishedMs(entry) < first_ms);
  return [...before.sort((a, b) => publishedMs(a) - publishedMs(b)), ...chain];
}

/** The newest edition of a chain that was published at or before a moment; undefined before the first. */
export const editionAt = (chain: readonly LogEntry[], moment_ms: number): LogEntry | undefined =>
  chain.findLast((entry) => publishedMs(entry) <= moment_ms);

export const publishedMs = ({ published_at }: LogEntry): number => Date.parse(published_at);
