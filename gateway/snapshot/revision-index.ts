/**
 * Which editions revised an indicator, and what its figures were before. Read when it is first asked for; editions are
 * compared when they are published, so no observations of theirs are read here.
 */
import { INTEGER, LIST, listValue, VARCHAR } from '@duckdb/node-api';
import { readSql } from '../../data/runtime/sql-files.ts';
import type { EditionChanges, FileRef, LogEntry } from '../../data/schema/snapshot.ts';
import { SnapshotUnreadable } from './objects.ts';
import type { SharedParts } from './shared-parts.ts';

/** A figure that editions up to `edition` had, and `superseded_by` no longer has. */
export interface EarlierFigure {
  value: number;
  edition: string;
  superseded_by: string;
}

/** The revisions of one indicator in one edition. */
interface RevisionFile {
  edition: string;
  base: string;
  ref: FileRef;
}

const EARLIER_SQL = readSql(import.meta.url, 'sql/earlier-figures.sql');
const EARLIER_TYPES = { files: LIST(VARCHAR), iso3: VARCHAR, year: INTEGER };
const FILENAME = 0;
const OLD_VALUE = 1;

export class RevisionIndex {
  readonly #shared: Pick<SharedParts, 'objects' | 'parsed' | 'queries' | 'onUnreadable'>;
  readonly #chain: readonly LogEntry[];
  /** By edition; held, so that one reading serves all indicators. */
  readonly #changes = new Map<string, EditionChanges>();

  /** @param chain the served edition and those before it, oldest first. */
  constructor(
    shared: Pick<SharedParts, 'objects' | 'parsed' | 'queries' | 'onUnreadable'>,
    chain: readonly LogEntry[],
  ) {
    this.#shared = shared;
    this.#chain = chain;
  }

  /** What a figure was before, newest first. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
  async earlierFigures(indicator: string, iso3: string, year: number): Promise<EarlierFigure[]> {
    const revisions = await this.#revisionsOf(indicator);
    if (revisions.length === 0) return [];
    const { objects } = this.#shared;
    const files = [...new Set(revisions.map(({ ref }) => objects.path(ref)))];
    const values = { files: listValue(files), iso3, year };
    const chunks = await this.#guard(revisions, () =>
      this.#shared.queries.run(EARLIER_SQL, values, EARLIER_TYPES),
    );
    const found = chunks.flatMap((chunk) =>
      chunk
        .getColumnValues(FILENAME)
        .map((file, row) => [String(file), chunk.getColumnValues(OLD_VALUE)[row]] as const),
    );
    const byFile = new Map(found.map(([file, value]) => [file, Number(value)]));
    return revisions.flatMap(({ edition, base, ref }) => {
      const value = byFile.get(objects.path(ref));
      return value === undefined ? [] : [{ value, edition: base, superseded_by: edition }];
    });
  }

  /** Under the ids that the indicator has had; newest first. */
  async #revisionsOf(indicator: string): Promise<RevisionFile[]> {
    const revisions: RevisionFile[] = [];
    let id = indicator;
    for (const entry of this.#chain.toReversed()) {
      const changes = await this.#changesOf(entry);
      if (changes === null || entry.base === null) continue;
      const ref = changes.revised[id]?.file;
      if (ref) revisions.push({ edition: entry.edition, base: entry.base, ref });
      id = changes.renamed.find(({ to }) => to === id)?.from ?? id;
    }
    return revisions;
  }

  async #changesOf({ edition, changes: ref }: LogEntry): Promise<EditionChanges | null> {
    if (ref === null) return null;
    const known = this.#changes.get(edition);
    if (known) return known;
    const { objects, parsed } = this.#shared;
    const name = `the changes of ${edition}`;
    const changes = await parsed.get<EditionChanges>(ref, 'changes', async () => {
      const bytes = await objects.read(ref).catch((cause: unknown) => {
        throw this.#fail(name, ref, cause);
      });
      return JSON.parse(bytes.toString());
    });
    this.#changes.set(edition, changes);
    return changes;
  }

  /** @throws {SnapshotUnreadable} when a query failed because of one of its files. */
  async #guard<T>(revisions: readonly RevisionFile[], query: () => Promise<T>): Promise<T> {
    try {
      await this.#shared.objects.ensure(revisions.map(({ ref }) => ref));
      return await query();
    } catch (cause) {
      for (const { edition, ref } of revisions) {
        if (!(await this.#shared.objects.verify(ref)))
          throw this.#fail(`the revisions of ${edition}`, ref, cause);
      }
      throw cause;
    }
  }

  #fail(name: string, ref: FileRef, cause: unknown): SnapshotUnreadable {
    this.#shared.onUnreadable(name, ref);
    return new SnapshotUnreadable(`${name} cannot be read`, { cause });
  }
}
