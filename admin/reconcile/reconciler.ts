/**
 * Reconciles every account: wallet, ledger, orders and usage against each other, over live data and archive.
 *
 * A reconciliation runs in four stages:
 *
 * 1. Read the archive: summarise its files and add them up for each account (`archive-summaries.ts`, `archive-totals.ts`).
 * 2. Read each live account from Redis (`live-account-reader.ts`).
 * 3. Compare the two (`compare.ts`). Totals tell which accounts agree.
 * 4. Report: read every other account once more, then its archive part by part (`archive-details.ts`), and name what is
 *    off. Redis is read before the archive, so entries that move from one to the other meanwhile raise no false alarm.
 *
 * One reconciliation runs at a time, in the background; its result is kept until the next.
 */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { Logger } from 'pino';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { dayOf, redisKeys } from '../../data/schema/redis-keys.ts';
import { ArchiveEngine } from '../../gateway/commerce/history/history.ts';
import { readDetails } from './archive-details.ts';
import {
  ArchiveSummaries,
  findAuditProblems,
  findMissingUsage,
  type SummarisedArchive,
} from './archive-summaries.ts';
import { ArchiveTotals } from './archive-totals.ts';
import { compareLedger, compareUsage, type Discrepancy, type LiveAccount } from './compare.ts';
import { findInvoiceProblems } from './invoice-sequence.ts';
import { LiveAccountReader } from './live-account-reader.ts';

const ENGINE_MEMORY_MB = 512;
const QUERY_TIMEOUT_MS = 300_000;
/** Few, because paid calls wait behind these reads in Redis. */
const CONCURRENT_READS = 32;
const BATCH_ACCOUNTS = 1_000;
/** Live usage expires after 100 days; the oldest day may expire during the reconciliation. */
const USAGE_DAYS = 98;
/** Most live usage counters of archived days that one reconciliation compares; the next one compares others. */
const COMPARED_COUNTERS = 200_000;
/** Time for reading unchanged archive files again. */
const REREAD_MS = 3_000;

interface ReconcileSources {
  redis: RedisClient;
  /** Unix milliseconds. */
  now: () => number;
  archiveDir: string;
  /** Keeps archive summaries from one reconciliation to the next. */
  workDir: string;
}

export interface Reconciliation {
  finished_at_ms: number;
  duration_ms: number;
  /** Number of accounts. */
  accounts: number;
  archive: {
    parts: number;
    entries: number;
    usage_days: number;
    /** When the file read longest ago was read; null without files. */
    oldest_read_at_ms: number | null;
  };
  /** Faults of the archive itself, in sentences. */
  problems: string[];
  /** Faults of the register of invoices; see `invoice-sequence.ts`. */
  invoice_problems: string[];
  discrepancies: Discrepancy[];
}

export interface ReconcileProgress {
  /** What is being read: `accounts`, or `archive files`. */
  what: string;
  done: number;
  total: number;
}

export class Reconciler {
  readonly #sources: ReconcileSources;
  readonly #log: Logger;
  /** Result of the last completed reconciliation; null before the first. */
  last: Reconciliation | null = null;
  /** When the newest reconciliation ended with an error; null when it did not. */
  failed_at_ms: number | null = null;
  #running: Promise<void> | null = null;
  #progress: ReconcileProgress = { what: 'accounts', done: 0, total: 0 };
  /** Number of reconciliations so far. */
  #turn = 0;

  constructor(sources: ReconcileSources, log: Logger) {
    this.#sources = sources;
    this.#log = log;
  }

  /** Progress of the running reconciliation; null when none runs. */
  get progress(): ReconcileProgress | null {
    return this.#running ? this.#progress : null;
  }

  /** Starts a reconciliation, or joins the running one. Waits at most `timeout_ms`; the work goes on after that. */
  async refresh(timeout_ms: number): Promise<void> {
    this.#running ??= this.#run()
      .catch((error: unknown) => {
        this.failed_at_ms = this.#sources.now();
        this.#log.error({ err: error }, 'reconciliation failed');
      })
      .finally(() => {
        this.#running = null;
      });
    await Promise.race([this.#running, setTimeout(timeout_ms, undefined, { ref: false })]);
  }

  async #run(): Promise<void> {
    const engine = new ArchiveEngine({
      memoryMb: ENGINE_MEMORY_MB,
      // Leaves one core to requests.
      threads: Math.max(1, availableParallelism() - 1),
      timeoutMs: QUERY_TIMEOUT_MS,
      scratch: join(this.#sources.workDir, 'scratch'),
    });
    try {
      this.last = await this.#reconcile(engine);
      this.failed_at_ms = null;
    } finally {
      await engine.close();
    }
  }

  async #reconcile(engine: ArchiveEngine): Promise<Reconciliation> {
    const { redis, now, archiveDir, workDir } = this.#sources;
    const started_ms = performance.now();
    const today = dayOf(now());
    const summaries = new ArchiveSummaries(archiveDir, join(workDir, 'summaries'), engine, now);
    const archive = await summaries.refresh({
      reread_ms: REREAD_MS,
      onRead: (done, total) => this.#report('archive files', done, total),
    });
    const days = this.#usageDays(today, archive, await redis.zcard(redisKeys.accounts));
    const totals = await ArchiveTotals.read(engine, archive, new Set(days.compared));
    const ids = await redis.zrange(redisKeys.accounts, '0', '-1');
    const reader = new LiveAccountReader(redis, [...days.live, ...days.compared]);
    const { suspects, known, unreadable } = await this.#compareTotals(ids, reader, totals);
    const problems = [
      ...archive.problems,
      ...(await findMissingUsage(engine, archive, today - USAGE_DAYS + 1)),
      ...(await findAuditProblems(engine, redis, archiveDir)),
      ...(unreadable > 0
        ? [`The archive cannot be read here: ${unreadable} accounts have entries in it.`]
        : []),
    ];
    const invoice_problems = await findInvoiceProblems(redis, now());
    const discrepancies = [
      ...(await this.#compareDetails(suspects, reader, summaries, engine)),
      ...unknownAccounts(totals, known),
    ];
    const files = [...archive.ledger, ...archive.usage];
    return {
      finished_at_ms: now(),
      duration_ms: Math.round(performance.now() - started_ms),
      accounts: ids.length,
      archive: {
        parts: archive.ledger.length,
        entries: totals.entries,
        usage_days: archive.usage.length,
        oldest_read_at_ms: files.length === 0 ? null : Math.min(...files.map(({ read_at_ms }) => read_at_ms)),
      },
      problems,
      invoice_problems,
      discrepancies,
    };
  }

  #report(what: string, done: number, total: number): void {
    this.#progress = { what, done, total };
  }

  /**
   * Days whose usage is live only, and archived days whose live usage is compared this time: all of them when there are
   * few accounts, otherwise other days in each reconciliation.
   */
  #usageDays(
    today: number,
    { usage }: SummarisedArchive,
    accounts: number,
  ): { live: number[]; compared: number[] } {
    const archived = new Set(usage.map(({ source }) => source.day));
    const days = Array.from({ length: USAGE_DAYS }, (_, index) => today - USAGE_DAYS + 1 + index);
    const both = days.filter((day) => archived.has(day));
    const count = Math.min(both.length, Math.max(1, Math.floor(COMPARED_COUNTERS / Math.max(1, accounts))));
    const first = this.#turn++ * count;
    const compared = Array.from({ length: count }, (_, index) => both[(first + index) % both.length] ?? 0);
    return { live: days.filter((day) => !archived.has(day)), compared };
  }

  /** Compares every account with the archive's totals. Returns the accounts to look at and those that Redis knows. */
  async #compareTotals(ids: readonly string[], reader: LiveAccountReader, totals: ArchiveTotals) {
    const suspects: string[] = [];
    const known = new Set<string>();
    let unreadable = 0;
    let done = 0;
    await readAll(ids, reader, (account_id, live) => {
      if (live) {
        known.add(account_id);
        if (live.archived_through && !totals.isReadable) unreadable += 1;
        if (!agrees(live, totals)) suspects.push(account_id);
      }
      done += 1;
      this.#report('accounts', done, ids.length);
    });
    return { suspects, known, unreadable };
  }

  /** Reads the suspects again, Redis first and then the archive, and names what is off. */
  async #compareDetails(
    suspects: readonly string[],
    reader: LiveAccountReader,
    summaries: ArchiveSummaries,
    engine: ArchiveEngine,
  ): Promise<Discrepancy[]> {
    const found: Discrepancy[] = [];
    for (let from = 0; from < suspects.length; from += BATCH_ACCOUNTS) {
      const batch = suspects.slice(from, from + BATCH_ACCOUNTS);
      const accounts: LiveAccount[] = [];
      await readAll(batch, reader, (_, live) => {
        if (live) accounts.push(live);
      });
      const archive = await summaries.refresh({ reread_ms: 0 });
      const details = await readDetails(engine, archive, accounts);
      for (const live of accounts) {
        const { account_id, email, archived_through } = live;
        const own = archive.hasLedger || !archived_through ? (details.get(account_id) ?? null) : null;
        const findings = [
          ...compareLedger(live, own?.ledger ?? null),
          ...compareUsage(live, own?.usage ?? null),
        ];
        found.push(...findings.map((finding) => ({ account_id, email, ...finding })));
      }
      this.#report('accounts with discrepancies', from + batch.length, suspects.length);
    }
    return found;
  }
}

/** Whether an account shows no discrepancy as far as totals can tell; false when in doubt. */
function agrees(live: LiveAccount, totals: ArchiveTotals): boolean {
  if (!totals.isReadable && live.archived_through)
    return compareLedger(live, null).length === 0 && compareUsage(live, null).length === 0;
  const archived = totals.ledgerOf(live.account_id, live.archived_through);
  return archived !== null && compareLedger(live, archived).length === 0 && totals.usageAgrees(live);
}

function unknownAccounts(totals: ArchiveTotals, known: ReadonlySet<string>): Discrepancy[] {
  const unknown = [...totals.accounts()].filter((account_id) => !known.has(account_id));
  return unknown.map((account_id) => ({
    account_id,
    email: '',
    check: 'archive',
    what: 'archived entries of an account that Redis does not hold',
    actual: totals.entriesOf(account_id),
    expected: 0,
    since_ms: null,
  }));
}

/** Reads accounts in batches, a few at once; after a failure no further read starts. */
async function readAll(
  ids: readonly string[],
  reader: LiveAccountReader,
  use: (account_id: string, live: LiveAccount | null) => void,
): Promise<void> {
  const limit = pLimit(CONCURRENT_READS);
  try {
    for (let from = 0; from < ids.length; from += BATCH_ACCOUNTS)
      await limit.map(ids.slice(from, from + BATCH_ACCOUNTS), async (id) => use(id, await reader.read(id)));
  } finally {
    limit.clearQueue();
  }
}
