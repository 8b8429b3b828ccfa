/** Editions as a gateway serves them, published by a test with any changes. */
import type { EditionChanges, LogEntry } from '../../../data/schema/snapshot.ts';
import type { ServedEditions } from '../../../gateway/commerce/notifications/alerts/change-alerts.ts';

/** The id of the edition that is published at a moment. */
export const editionName = (ms: number): string =>
  `${new Date(ms).toISOString().replaceAll(/[-:]|\.\d+/g, '')}-00000000`;

/** The editions that a gateway serves by now. */
export class Served implements ServedEditions {
  readonly chain: LogEntry[] = [];
  /** Today's ids by former ones. */
  readonly ids = new Map<string, string>();
  readonly changes = new Map<string, EditionChanges>();

  publish(at_ms: number, changes: EditionChanges): void {
    const edition = editionName(at_ms);
    const published_at = new Date(at_ms).toISOString();
    // Only these fields are read.
    this.chain.push({ edition, published_at } as LogEntry);
    this.changes.set(edition, changes);
  }

  current() {
    const shownChanges = async ({ edition }: LogEntry): Promise<EditionChanges> => {
      const changes = this.changes.get(edition);
      if (!changes) throw new Error(`${edition} was never published`);
      return changes;
    };
    const resolve = (id: string) => ({ id: this.ids.get(id) ?? id });
    return { editions: { chain: this.chain, history: { shownChanges } }, resolve };
  }
}
