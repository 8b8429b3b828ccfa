/** One part of the ledger: gathered, written, read back, and only then given its name. */
import { LEDGER_COLUMNS } from '../../data/schema/archive.ts';
import { DuckSession, readSql } from '../runtime/duckdb.ts';
import type { ArchiveStorage, PartFiles } from './archive-storage.ts';
import { ledgerRow, RowTable, type StreamEntry } from './entry-rows.ts';

const DROP_ACCOUNT = readSql(import.meta.url, 'sql/drop-account.sql');
const TABLES = readSql(import.meta.url, 'sql/tables.sql');
const VERIFY_LEDGER = readSql(import.meta.url, 'sql/verify-ledger.sql');
const WRITE_ACCOUNTS = readSql(import.meta.url, 'sql/write-accounts.sql');
const WRITE_LEDGER = readSql(import.meta.url, 'sql/write-ledger.sql');

const MEMORY_MB = 768;

export class LedgerPart {
  readonly #duck: DuckSession;
  readonly #table: RowTable;
  /** What was added of each account: how many entries, and what they moved. */
  readonly #added = new Map<string, { entries: number; moved: number }>();

  private constructor(duck: DuckSession, table: RowTable) {
    this.#duck = duck;
    this.#table = table;
  }

  static async open(shelf: ArchiveStorage): Promise<LedgerPart> {
    const duck = await DuckSession.open({ scratch: shelf.scratch, memoryMb: MEMORY_MB });
    await duck.run(TABLES);
    return new LedgerPart(duck, await RowTable.open(duck, 'ledger_entries', LEDGER_COLUMNS));
  }

  get size(): number {
    return this.#table.added;
  }

  add(account_id: string, entry: StreamEntry, delta: number): void {
    this.#table.add(ledgerRow(account_id, entry));
    const sum = this.#added.get(account_id) ?? { entries: 0, moved: 0 };
    sum.entries += 1;
    sum.moved += delta;
    this.#added.set(account_id, sum);
  }

  /**
   * Writes the part and gives it its name.
   * @param without accounts that are left out, whatever was added of them.
   * @returns null when nothing is left to write.
   * @throws {Error} when what was written does not read back as what was added: it then never gets its name.
   */
  async write(
    shelf: ArchiveStorage,
    now_ms: number,
    without: ReadonlySet<string>,
  ): Promise<{ name: string; files: PartFiles; entries: number } | null> {
    this.#table.close();
    for (const account of without) {
      if (this.#added.delete(account)) await this.#duck.run(DROP_ACCOUNT, { account });
    }
    if (this.#added.size === 0) return null;
    const { name, files } = await shelf.begin('ledger', now_ms);
    await this.#duck.run(WRITE_LEDGER, { file: files.entries });
    await this.#duck.run(WRITE_ACCOUNTS, { entries: files.entries, file: files.accounts });
    const entries = await this.#readBack(files);
    return { name, files: await shelf.publish('ledger', name), entries };
  }

  async #readBack({ directory, entries, accounts }: PartFiles): Promise<number> {
    const [found = {}] = await this.#duck.rows(VERIFY_LEDGER, { entries, accounts });
    const sums = [...this.#added.values()];
    const written = sums.reduce((sum, one) => sum + one.entries, 0);
    const moved = sums.reduce((sum, one) => sum + BigInt(one.moved), 0n).toString();
    const expected = {
      entries: String(written),
      accounts: String(this.#added.size),
      moved,
      astray: '0',
      summed_entries: String(written),
      summed_moved: moved,
    };
    const wrong = Object.entries(expected).filter(([name, value]) => String(found[name]) !== value);
    if (wrong.length === 0) return written;
    const what = wrong.map(([name, value]) => `${name} ${String(found[name])}, not ${value}`).join('; ');
    throw new Error(`${directory} does not read back as what was written: ${what}`);
  }

  async close(): Promise<void> {
    await this.#duck.close();
  }
}
