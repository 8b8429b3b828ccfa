/**
 * Moves ledger entries of finished days from Redis to Parquet parts.
 *
 * A run first trims what an earlier run wrote but did not trim, then reads the prefix of each account's stream that is
 * older than the given moment and writes it in parts of bounded size. A part is verified before it gets its name, and
 * only then are its entries trimmed from Redis. An account whose balances do not add up, or whose live entries differ
 * from a part, stays in Redis and is reported; the others go on.
 */
import { basename, dirname } from 'node:path';
import { inParallel } from '../../data/runtime/in-parallel.ts';
import { sqlOf } from '../../data/runtime/sql-files.ts';
import { LEDGER_COLUMNS, ledgerArchivedThrough } from '../../data/schema/archive.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import type { RowTable, SqlRow } from '../runtime/duckdb.ts';
import { withRetry } from '../runtime/redis-connection.ts';
import type { ArchiveContext, EntriesArchived, NotArchived, PartFiles } from './archive-storage.ts';
import {
  type EntryId,
  isAfter,
  ledgerRow,
  parseEntryId,
  readMove,
  type StreamEntry,
  writeTable,
} from './entry-rows.ts';
import { accountPages, ENTRIES_PER_READ, readStream, trimStream } from './redis-access.ts';

const sql = sqlOf(import.meta.url);

/** Redis answers these reads one after the other, and a paid call waits for all of them. */
const ACCOUNTS_PER_READ = 20;
const ACCOUNTS_PER_QUERY = 1_000;
/** A script over 250 entries blocks Redis for 0.4 ms, by Redis' own clock. */
const ENTRIES_PER_TRIM = 250;
const TRIMS_AT_ONCE = 4;
const BEFORE_ALL: EntryId = { ms: 0n, seq: 0 };

/** @param before_ms Unix milliseconds; entries of this moment and later stay. */
export async function archiveLedger(context: ArchiveContext, before_ms: number): Promise<EntriesArchived> {
  const archived: EntriesArchived = { parts: [], entries: 0, resumed: [], left: [] };
  const left = new Set<string>();
  const leave = (account: NotArchived): void => {
    left.add(account.what);
    archived.left.push(account);
  };
  for (const name of await untrimmedParts(context)) {
    for (const one of await trimPart(context, context.storage.part('ledger', name))) leave(one);
    archived.resumed.push(name);
  }
  let part: LedgerPart | null = null;
  const finishPart = async (open: LedgerPart | null): Promise<void> => {
    const written = await open?.write(left);
    if (!written) return;
    const { name, files, entries } = written;
    context.log.info({ part: name, entries }, 'a part of the ledger is written');
    archived.parts.push(name);
    archived.entries += entries;
    await context.onStep(`ledger written ${name}`);
    for (const one of await trimPart(context, files)) leave(one);
  };
  for await (const { account_id, entry, delta } of readOldEntries(context, before_ms, left, leave)) {
    part ??= await LedgerPart.open(context);
    part.add(account_id, entry, delta);
    if (part.size < context.partEntries) continue;
    await finishPart(part);
    part = null;
  }
  await finishPart(part);
  return archived;
}

interface OldEntry {
  account_id: string;
  entry: StreamEntry;
  delta: number;
}

/** The entries of all accounts but those in `left` that are older than the moment, one account after the other. */
async function* readOldEntries(
  { redis, signal }: ArchiveContext,
  before_ms: number,
  left: ReadonlySet<string>,
  leave: (account: NotArchived) => void,
): AsyncGenerator<OldEntry> {
  for await (const page of accountPages(redis, ACCOUNTS_PER_READ)) {
    const ids = page.filter((id) => !left.has(id));
    // Most accounts have no more than their first entries, so these are read for many at once.
    const heads = await withRetry(redis, () =>
      Promise.all(
        ids.map((id) =>
          Promise.all([
            redis.hgetall(redisKeys.archivedThrough(id)),
            redis.xrange(redisKeys.ledger(id), '-', '+', 'COUNT', ENTRIES_PER_READ),
          ]),
        ),
      ),
    );
    for (const [index, account_id] of ids.entries()) {
      const [hash = {}, head = []] = heads[index] ?? [];
      const balance = 'through' in hash ? ledgerArchivedThrough.parse(hash).balance : 0;
      const entries = readStream(redis, redisKeys.ledger(account_id), head);
      for await (const one of followBalance(account_id, balance, entries, before_ms, leave)) {
        signal.throwIfAborted();
        yield one;
        if (left.has(account_id)) break;
      }
    }
  }
}

/** The entries of one account before the moment, as far as each follows from the balance before it. */
async function* followBalance(
  account_id: string,
  opening: number,
  entries: AsyncIterable<StreamEntry>,
  before_ms: number,
  leave: (account: NotArchived) => void,
): AsyncGenerator<OldEntry> {
  let balance = opening;
  for await (const entry of entries) {
    const move = readMove(entry);
    if (move && move.at_ms >= before_ms) return;
    if (!move || move.balance !== balance + move.delta) {
      leave({ what: account_id, why: `entry ${entry[0]} does not follow from a balance of ${balance}` });
      return;
    }
    balance = move.balance;
    yield { account_id, entry, delta: move.delta };
  }
}

/** Parts with entries that Redis still holds, oldest first. */
async function untrimmedParts({ storage, duck, redis }: ArchiveContext): Promise<string[]> {
  const accounts = await storage.accountFiles();
  if (accounts === null) return [];
  await duck.run(sql('archived-through'), { accounts });
  const columns = { account_id: 'VARCHAR', ms: 'BIGINT', seq: 'INTEGER' } as const;
  const behind = await duck.createTable('accounts_behind', columns);
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page = await duck.rows(sql('archived-through-page'), { after, limit: ACCOUNTS_PER_QUERY });
    const ids = page.map(({ account_id }) => String(account_id));
    const trimmed = await withRetry(redis, () =>
      Promise.all(ids.map((id) => redis.hget(redisKeys.archivedThrough(id), 'through'))),
    );
    for (const [index, { account_id, through }] of page.entries()) {
      const last = trimmed[index] ? parseEntryId(trimmed[index]) : BEFORE_ALL;
      if (isAfter(parseEntryId(String(through)), last)) behind.add([String(account_id), last.ms, last.seq]);
    }
    after = ids.at(-1);
  }
  behind.close();
  if (behind.added === 0) return [];
  const parts = await duck.rows(sql('parts-beyond'), { accounts });
  return parts.map(({ file }) => basename(dirname(String(file))));
}

/**
 * Trims the entries of a part from Redis, as far as they are still there. Idempotent.
 * @returns the accounts whose live entries differ from the part: from there on nothing of them was trimmed.
 */
async function trimPart(context: ArchiveContext, { accounts, entries }: PartFiles): Promise<NotArchived[]> {
  const left: NotArchived[] = [];
  for (let after = ''; ; ) {
    const page = await context.duck.rows(sql('accounts-page'), {
      accounts,
      after,
      limit: ACCOUNTS_PER_QUERY,
    });
    const ids = page.map(({ account_id }) => String(account_id));
    const [from] = ids;
    const to = ids.at(-1);
    if (from === undefined || to === undefined) return left;
    const steps = await context.duck.rows(sql('ledger-steps'), { entries, from, to, step: ENTRIES_PER_TRIM });
    const byAccount = Map.groupBy(steps, ({ account_id }) => String(account_id));
    await inParallel(byAccount, TRIMS_AT_ONCE, async ([account_id, own]) => {
      const why = await trimAccount(context, account_id, own);
      if (why !== null) left.push({ what: account_id, why });
    });
    after = to;
  }
}

/** @returns why a step was refused; null when all were trimmed. */
async function trimAccount(
  { redis, signal, onStep }: ArchiveContext,
  account_id: string,
  steps: readonly SqlRow[],
): Promise<string | null> {
  const keys = [redisKeys.ledger(account_id), redisKeys.archivedThrough(account_id)];
  for (const { first, through, at_ms, entries, opening, closing } of steps) {
    signal.throwIfAborted();
    const values = [first, through, entries, at_ms, opening, closing].map(String);
    const { outcome, why } = await trimStream(redis, keys, values);
    if (outcome === 'refused') return why;
    if (outcome === 'trimmed') await onStep(`ledger trimmed ${account_id} ${String(through)}`);
  }
  return null;
}

/** Entries on their way into one part, in a DuckDB table. */
class LedgerPart {
  readonly #context: ArchiveContext;
  readonly #table: RowTable;
  /** Entries added and credits moved by account. */
  readonly #added = new Map<string, { entries: number; moved: number }>();

  private constructor(context: ArchiveContext, table: RowTable) {
    this.#context = context;
    this.#table = table;
  }

  static async open(context: ArchiveContext): Promise<LedgerPart> {
    return new LedgerPart(context, await context.duck.createTable('ledger_entries', LEDGER_COLUMNS));
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
   * Writes the part, verifies it and gives it its name.
   * @param without accounts whose entries are left out.
   * @returns null when nothing is left to write.
   * @throws {Error} when the written files differ from what was added; they stay unnamed.
   */
  async write(
    without: ReadonlySet<string>,
  ): Promise<{ name: string; files: PartFiles; entries: number } | null> {
    const { storage, duck, now } = this.#context;
    this.#table.close();
    for (const account of without) {
      if (this.#added.delete(account)) await duck.run(sql('drop-account'), { account });
    }
    if (this.#added.size === 0) return null;
    const { name, files } = await storage.begin('ledger', now());
    await writeTable(duck, this.#table, files.entries);
    await duck.run(sql('write-accounts'), { entries: files.entries, file: files.accounts });
    const entries = await this.#verify(files);
    return { name, files: await storage.publish('ledger', name), entries };
  }

  async #verify({ directory, entries, accounts }: PartFiles): Promise<number> {
    const [found = {}] = await this.#context.duck.rows(sql('verify-ledger'), { entries, accounts });
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
}
