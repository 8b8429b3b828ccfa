/**
 * Takes a part of the ledger over from Redis: each account's entries leave in steps, oldest first, each by one script
 * that says how far the archive goes and trims as much. A step is small, so that paid calls never wait long behind it.
 * Measured by Redis' own clock, a step of 250 entries holds it for 0.4 ms.
 */
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { DuckSession, readSql, type SqlRow } from '../runtime/duckdb.ts';
import { inParallel } from '../runtime/in-parallel.ts';
import type { PartFiles } from './archive-storage.ts';
import type { ArchiveContext, NotArchived } from './context.ts';
import { readScript, runScript } from './redis-access.ts';

const ACCOUNTS_PAGE = readSql(import.meta.url, 'sql/accounts-page.sql');
const LEDGER_STEPS = readSql(import.meta.url, 'sql/ledger-steps.sql');

const CARRY = readScript('trim-ledger');
const STEP_ENTRIES = 250;
const ACCOUNTS_AT_ONCE = 1_000;
const SIDE_BY_SIDE = 4;
const MEMORY_MB = 512;

/**
 * Carries everything of a part that has not been carried yet. Repeating it changes nothing.
 * @returns the accounts whose live entries are not what the part holds: nothing of them was trimmed from there on.
 */
export async function carryLedger(context: ArchiveContext, part: PartFiles): Promise<NotArchived[]> {
  const duck = await DuckSession.open({ scratch: context.shelf.scratch, memoryMb: MEMORY_MB });
  const left: NotArchived[] = [];
  try {
    for (let after = ''; ; ) {
      const accounts = (
        await duck.rows(ACCOUNTS_PAGE, { accounts: part.accounts, after, limit: ACCOUNTS_AT_ONCE })
      ).map(({ account_id }) => String(account_id));
      const [from] = accounts;
      const to = accounts.at(-1);
      if (from === undefined || to === undefined) return left;
      const steps = await duck.rows(LEDGER_STEPS, {
        entries: part.entries,
        from,
        to,
        step: STEP_ENTRIES,
      });
      const byAccount = Map.groupBy(steps, ({ account_id }) => String(account_id));
      await inParallel(byAccount, SIDE_BY_SIDE, async ([account_id, own]) => {
        const why = await carryAccount(context, account_id, own);
        if (why !== null) left.push({ what: account_id, why });
      });
      after = to;
    }
  } finally {
    await duck.close();
  }
}

/** @returns why it was refused; null when all has been carried. */
async function carryAccount(
  { redis, signal, onStep }: ArchiveContext,
  account_id: string,
  steps: readonly SqlRow[],
): Promise<string | null> {
  const keys = [redisKeys.ledger(account_id), redisKeys.archivedThrough(account_id)];
  for (const { first, through, at_ms, entries, opening, closing } of steps) {
    signal?.throwIfAborted();
    const values = [first, through, at_ms, entries, opening, closing].map(String);
    const [outcome, why] = (await runScript(redis, CARRY, keys, values)) as [string, string?];
    if (outcome === 'refused') return why ?? '';
    if (outcome === 'carried') await onStep(`ledger carried ${account_id} ${String(through)}`);
  }
  return null;
}
