/**
 * The archive as pages read it: history of accounts and of the audit log that has left Redis (see
 * `data/schema/archive.ts`). New parts are noticed by themselves. A directory that is not there is an empty archive.
 */
import { AuditArchive } from './audit-archive.ts';
import { ArchiveEngine } from './engine.ts';
import { LedgerArchive } from './ledger-archive.ts';
import { UsageArchive } from './usage-archive.ts';

/** Pages read some thousand rows at a time; more memory than this would only be taken from the answers. */
const LIMITS = { memoryMb: 192, threads: 2, timeoutMs: 20_000 };

export class Archive {
  readonly directory: string;
  readonly ledger: LedgerArchive;
  readonly audit: AuditArchive;
  readonly usage: UsageArchive;
  readonly #engine = new ArchiveEngine(LIMITS);

  /** Opens nothing yet. */
  constructor(directory: string) {
    this.directory = directory;
    this.ledger = new LedgerArchive(directory, this.#engine);
    this.audit = new AuditArchive(directory, this.#engine);
    this.usage = new UsageArchive(directory, this.#engine);
  }

  close(): Promise<void> {
    return this.#engine.close();
  }
}
