/**
 * Moves the ledger entries of finished days out of Redis: first what an earlier run has written and not taken over,
 * then the prefix of each account's stream that is older than the moment given, in parts of bounded size.
 *
 * An account whose chain of balances is broken, or whose live entries are not what a part holds, stays as it is and is
 * named; the others go on.
 */
import { ledgerArchivedThrough } from '../../data/schema/archive.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { DuckSession, readSql } from '../runtime/duckdb.ts';
import { carryLedger } from './carry-ledger.ts';
import type { ArchiveContext, NotArchived } from './context.ts';
import { type EntryId, idOf, isAfter, moveOf, RowTable, type StreamEntry } from './entry-rows.ts';
import { LedgerPart } from './ledger-part.ts';
import { accountPages, withRetry } from './redis-access.ts';

const ACCOUNTS_BEHIND = readSql(import.meta.url, 'sql/accounts-behind.sql');
const ARCHIVED_THROUGH = readSql(import.meta.url, 'sql/archived-through.sql');
const ARCHIVED_THROUGH_PAGE = readSql(import.meta.url, 'sql/archived-through-page.sql');
const PARTS_BEYOND = readSql(import.meta.url, 'sql/parts-beyond.sql');

/** Redis reads them one after the other before it turns to anybody else: a paid call waits for all of them. */
const ACCOUNTS_AT_ONCE = 20;
const PIECE = 250;
const ARCHIVED_AT_ONCE = 2_000;
const MEMORY_MB = 512;
const NOTHING: EntryId = { ms: 0n, seq: 0 };

export interface LedgerArchived {
  /** Names of the parts that were written. */
  parts: string[];
  entries: number;
  /** Parts of earlier runs that were taken over first. */
  resumed: string[];
  left: NotArchived[];
}

/** @param before entries of this moment and later stay, Unix milliseconds. */
export async function archiveLedger(context: ArchiveContext, before_ms: number): Promise<LedgerArchived> {
  const archived: LedgerArchived = { parts: [], entries: 0, resumed: [], left: [] };
  for (const name of await owedParts(context)) {
    archived.left.push(...(await carryLedger(context, context.shelf.part('ledger', name))));
    archived.resumed.push(name);
  }
  await new LedgerRun(context, before_ms, archived).run();
  return archived;
}

/** Parts of which Redis does not yet know everything, oldest first. */
async function owedParts(context: ArchiveContext): Promise<string[]> {
  const { shelf, redis } = context;
  const accounts = await shelf.accountFiles();
  if (accounts === null) return [];
  const duck = await DuckSession.open({ scratch: shelf.scratch, memoryMb: MEMORY_MB });
  try {
    await duck.run(ARCHIVED_THROUGH, { accounts });
    await duck.run(ACCOUNTS_BEHIND);
    const behind = await RowTable.open(duck, 'accounts_behind', {
      account_id: 'VARCHAR',
      ms: 'BIGINT',
      seq: 'INTEGER',
    });
    for (let after = ''; ; ) {
      const page = await duck.rows(ARCHIVED_THROUGH_PAGE, { after, limit: ARCHIVED_AT_ONCE });
      const ids = page.map(({ account_id }) => String(account_id));
      const standing = await withRetry(redis, () =>
        Promise.all(ids.map((id) => redis.hget(redisKeys.archivedThrough(id), 'through'))),
      );
      for (const [index, { account_id, through }] of page.entries()) {
        const carried = standing[index] ? idOf(standing[index]) : NOTHING;
        if (isAfter(idOf(String(through)), carried))
          behind.add([String(account_id), carried.ms, carried.seq]);
      }
      const last = ids.at(-1);
      if (last === undefined) break;
      after = last;
    }
    behind.close();
    if (behind.added === 0) return [];
    const parts = await duck.rows(PARTS_BEYOND, { accounts });
    return parts.map(({ file }) => shelf.partOf(String(file)));
  } finally {
    await duck.close();
  }
}

/** How far an account has been read. */
interface Reading {
  account_id: string;
  balance: number;
  /** The last entry that was read. */
  last: string | null;
}

class LedgerRun {
  readonly #to: ArchiveContext;
  readonly #before_ms: number;
  readonly #archived: LedgerArchived;
  readonly #left: Set<string>;
  #part: LedgerPart | null = null;

  constructor(context: ArchiveContext, before_ms: number, archived: LedgerArchived) {
    this.#to = context;
    this.#before_ms = before_ms;
    this.#archived = archived;
    this.#left = new Set(archived.left.map(({ what }) => what));
  }

  async run(): Promise<void> {
    try {
      for await (const ids of accountPages(this.#to.redis, ACCOUNTS_AT_ONCE)) {
        await this.#readAccounts(ids.filter((id) => !this.#left.has(id)));
      }
      await this.#finishPart();
    } finally {
      await this.#part?.close();
    }
  }

  /** The beginnings of many accounts at once: for most there is no more. */
  async #readAccounts(ids: readonly string[]): Promise<void> {
    const { redis } = this.#to;
    const beginnings = await withRetry(redis, () =>
      Promise.all(
        ids.map((id) =>
          Promise.all([
            redis.hgetall(redisKeys.archivedThrough(id)),
            redis.xrange(redisKeys.ledger(id), '-', '+', 'COUNT', PIECE),
          ]),
        ),
      ),
    );
    for (const [index, account_id] of ids.entries()) {
      const [hash = {}, piece = []] = beginnings[index] ?? [];
      const balance = 'through' in hash ? ledgerArchivedThrough.parse(hash).balance : 0;
      await this.#readAccount({ account_id, balance, last: null }, piece);
    }
  }

  async #readAccount(reading: Reading, beginning: StreamEntry[]): Promise<void> {
    const { redis, signal } = this.#to;
    const key = redisKeys.ledger(reading.account_id);
    for (let piece = beginning; await this.#take(reading, piece); ) {
      signal?.throwIfAborted();
      await this.#finishFullPart();
      if (this.#left.has(reading.account_id)) return;
      const from = `(${reading.last ?? '-'}`;
      piece = await withRetry(redis, () => redis.xrange(key, from, '+', 'COUNT', PIECE));
    }
    await this.#finishFullPart();
  }

  /** @returns whether there may be more to take. */
  async #take(reading: Reading, piece: readonly StreamEntry[]): Promise<boolean> {
    for (const entry of piece) {
      const move = moveOf(entry);
      if (move && move.at_ms >= this.#before_ms) return false;
      if (!move || move.balance !== reading.balance + move.delta) {
        this.#leave(reading.account_id, brokenAt(entry, reading.balance));
        return false;
      }
      this.#part ??= await LedgerPart.open(this.#to.shelf);
      this.#part.add(reading.account_id, entry, move.delta);
      reading.balance = move.balance;
      reading.last = entry[0];
    }
    return piece.length === PIECE;
  }

  #leave(what: string, why: string): void {
    this.#left.add(what);
    this.#archived.left.push({ what, why });
  }

  async #finishFullPart(): Promise<void> {
    if ((this.#part?.size ?? 0) >= this.#to.partEntries) await this.#finishPart();
  }

  async #finishPart(): Promise<void> {
    if (!this.#part) return;
    const { shelf, now, log, onStep } = this.#to;
    const written = await this.#part.write(shelf, now(), this.#left);
    await this.#part.close();
    this.#part = null;
    if (!written) return;
    const { name, files, entries } = written;
    log.info({ part: name, entries }, 'a part of the ledger is written');
    this.#archived.parts.push(name);
    this.#archived.entries += entries;
    await onStep(`ledger written ${name}`);
    for (const { what, why } of await carryLedger(this.#to, files)) this.#leave(what, why);
  }
}

function brokenAt([id]: StreamEntry, balance: number): string {
  return `entry ${id} does not follow from a balance of ${balance}`;
}
