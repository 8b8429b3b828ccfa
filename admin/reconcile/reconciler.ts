/**
 * Reconciliation of all accounts over archive and live ledger: one reading at a time, in the background of whoever
 * asked, its outcome kept until the next.
 *
 * Every account is held against the sums of the archive first. One with which something seems wrong is looked at again,
 * by itself: what Redis says of it, and only then the archive, part by part, so that what moves from one to the other
 * meanwhile is no false alarm. What is found then is named.
 */

import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { dayOf, redisKeys } from '../../data/schema/redis-keys.ts';
import { ArchiveEngine } from '../../gateway/archive/engine.ts';
import { readDetails } from './archive-details.ts';
import {
  ArchiveSummaries,
  auditProblems,
  missingUsage,
  type SummarisedArchive,
} from './archive-summaries.ts';
import { ArchiveTotals } from './archive-totals.ts';
import { compareLedger, compareUsage, type Discrepancy, type Finding, type LiveAccount } from './compare.ts';
import { LiveAccountReader } from './live-account-reader.ts';

const MEMORY_MB = 512;
const QUESTION_AT_MOST_MS = 300_000;

export class Reconciler {
  readonly #sources: ReconcileSources;
  readonly #log: Logger;
  #last: Reconciliation | null = null;
  #running: Promise<void> | null = null;
  #readings = 0;
  #progress: ReconcileProgress = { what: 'accounts', done: 0, total: 0 };

  constructor(sources: ReconcileSources, log: Logger) {
    this.#sources = sources;
    this.#log = log;
  }

  /** The outcome of the last whole reading; null before the first. */
  get last(): Reconciliation | null {
    return this.#last;
  }

  /** How far a reading is that has not ended; null when there is none. */
  get progress(): ReconcileProgress | null {
    return this.#running ? this.#progress : null;
  }

  /** Reads everything anew, or joins a reading that is under way; waits for it, but not longer than `patience_ms`. */
  async refresh(patience_ms: number): Promise<void> {
    this.#running ??= this.#read()
      .catch((error: unknown) => this.#log.error({ err: error }, 'reconciliation failed'))
      .finally(() => {
        this.#running = null;
      });
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((settle) => {
      timer = setTimeout(settle, patience_ms);
      timer.unref();
    });
    await Promise.race([this.#running, patience]);
    clearTimeout(timer);
  }

  async #read(): Promise<void> {
    const engine = new ArchiveEngine({
      memoryMb: MEMORY_MB,
      // One core is left to those who are being served meanwhile.
      threads: Math.max(1, availableParallelism() - 1),
      timeoutMs: QUESTION_AT_MOST_MS,
      scratch: join(this.#sources.workDir, 'scratch'),
    });
    const reading = new Reading(this.#sources, engine, this.#readings++, (progress) => {
      this.#progress = progress;
    });
    try {
      this.#last = await reading.run();
    } finally {
      await engine.close();
    }
  }
}

/** Few, so that a reading never stands long before a paid call in Redis. */
const AT_ONCE = 32;
/** Accounts looked at part by part in one go. */
const LOOKED_AT_ONCE = 1_000;
/** Usage is kept for 100 days; the oldest may be going while it is read. */
const USAGE_DAYS = 98;
/** Usage of archived days is live for long: so many of these counters are held against the archive, in turns. */
const COUNTERS_COMPARED = 200_000;
/** How long files of the archive that have not changed are read anew, each time. */
const ANEW_MS = 3_000;

export interface ReconcileSources {
  redis: RedisClient;
  /** Unix milliseconds. */
  now: () => number;
  /** Where the archive lies. */
  archiveDir: string;
  /** Where summaries of it are kept from one reading to the next. */
  workDir: string;
}

/** What was read of the archive. */
export interface ArchiveRead {
  parts: number;
  entries: number;
  usage_days: number;
  /** When the file was read that was read longest ago; null when there is none. */
  oldest_read_at_ms: number | null;
}

export interface Reconciliation {
  finished_at_ms: number;
  duration_ms: number;
  accounts: number;
  archive: ArchiveRead;
  /** What is wrong with the archive itself, in sentences. */
  problems: string[];
  discrepancies: Discrepancy[];
}

export interface ReconcileProgress {
  /** What is being read: `accounts`, or `files of the archive`. */
  what: string;
  done: number;
  total: number;
}

const isUnknown = 'entries of an account that Redis does not know';

export class Reading {
  readonly #to: ReconcileSources;
  readonly #engine: ArchiveEngine;
  readonly #summaries: ArchiveSummaries;
  /** How many readings there were before this one. */
  readonly #turn: number;
  readonly #tell: (progress: ReconcileProgress) => void;

  constructor(
    sources: ReconcileSources,
    engine: ArchiveEngine,
    turn: number,
    tell: (progress: ReconcileProgress) => void,
  ) {
    const { archiveDir, workDir, now } = sources;
    this.#to = sources;
    this.#engine = engine;
    this.#summaries = new ArchiveSummaries(archiveDir, join(workDir, 'summaries'), engine, now);
    this.#turn = turn;
    this.#tell = tell;
  }

  async run(): Promise<Reconciliation> {
    const { redis, now, archiveDir } = this.#to;
    const began_ms = performance.now();
    const today = dayOf(now());
    const summarised = await this.#summaries.refresh({
      anew_ms: ANEW_MS,
      onRead: (done, total) => this.#tell({ what: 'files of the archive', done, total }),
    });
    const days = this.#days(today, summarised, await redis.zcard(redisKeys.accounts));
    const books = await ArchiveTotals.read(this.#engine, summarised, new Set(days.compared));
    const ids = await redis.zrange(redisKeys.accounts, '0', '-1');
    const reader = new LiveAccountReader(redis, [...days.live, ...days.compared]);
    const { suspects, known, unreadable } = await this.#screen(ids, reader, books);
    const problems = [
      ...summarised.problems,
      ...(await missingUsage(this.#engine, summarised, today - USAGE_DAYS + 1)),
      ...(await auditProblems(this.#engine, redis, archiveDir)),
      ...(unreadable > 0
        ? [`The archive cannot be read here: ${unreadable} accounts have entries in it.`]
        : []),
    ];
    const discrepancies = [...(await this.#look(suspects, reader)), ...strangersIn(books, known)];
    const files = [...summarised.ledger, ...summarised.usage];
    return {
      finished_at_ms: now(),
      duration_ms: Math.round(performance.now() - began_ms),
      accounts: ids.length,
      archive: {
        parts: summarised.ledger.length,
        entries: books.entries,
        usage_days: summarised.usage.length,
        oldest_read_at_ms: files.length === 0 ? null : Math.min(...files.map(({ read_at_ms }) => read_at_ms)),
      },
      problems,
      discrepancies,
    };
  }

  /**
   * Numbers of the days whose usage is live only, and of those in the archive, too, that are compared this time: all of
   * them where accounts are few, some where they are many, others with each reading.
   */
  #days(
    today: number,
    { usage }: SummarisedArchive,
    accounts: number,
  ): { live: number[]; compared: number[] } {
    const archived = new Set(usage.map(({ source }) => source.day));
    const days = Array.from({ length: USAGE_DAYS }, (_, index) => today - USAGE_DAYS + 1 + index);
    const both = days.filter((day) => archived.has(day));
    const count = Math.min(both.length, Math.max(1, Math.floor(COUNTERS_COMPARED / Math.max(1, accounts))));
    const compared = Array.from(
      { length: count },
      (_, index) => both[(this.#turn * count + index) % both.length] ?? 0,
    );
    return { live: days.filter((day) => !archived.has(day)), compared };
  }

  /** Holds every account against the sums: which must be looked at, and which Redis knows. */
  async #screen(ids: readonly string[], reader: LiveAccountReader, books: ArchiveTotals) {
    const suspects: string[] = [];
    const known = new Set<string>();
    let unreadable = 0;
    let done = 0;
    await eachAtOnce(ids, AT_ONCE, async (account_id) => {
      const facts = await reader.read(account_id);
      if (facts) {
        known.add(account_id);
        if (facts.carried && !books.isReachable) unreadable += 1;
        if (!agrees(facts, books)) suspects.push(account_id);
      }
      done += 1;
      this.#tell({ what: 'accounts', done, total: ids.length });
    });
    return { suspects, known, unreadable };
  }

  /** Redis first and then the archive: what was carried over in between is in both, and counts once. */
  async #look(suspects: readonly string[], reader: LiveAccountReader): Promise<Discrepancy[]> {
    const found: Discrepancy[] = [];
    for (let from = 0; from < suspects.length; from += LOOKED_AT_ONCE) {
      const piece = suspects.slice(from, from + LOOKED_AT_ONCE);
      const facts: LiveAccount[] = [];
      await eachAtOnce(piece, AT_ONCE, async (account_id) => {
        const one = await reader.read(account_id);
        if (one) facts.push(one);
      });
      const summarised = await this.#summaries.refresh({ anew_ms: 0 });
      const details = await readDetails(this.#engine, summarised, facts);
      for (const one of facts) {
        const own = summarised.isThere || !one.carried ? (details.get(one.account_id) ?? null) : null;
        const findings = [
          ...compareLedger(one, own?.archived ?? null),
          ...compareUsage(one, own?.days ?? null),
        ];
        found.push(...findings.map((finding) => named(one, finding)));
      }
      this.#tell({ what: 'accounts that seem off', done: from + piece.length, total: suspects.length });
    }
    return found;
  }
}

const named = ({ account_id, email }: LiveAccount, finding: Finding): Discrepancy => ({
  account_id,
  email,
  ...finding,
});

/** Whether nothing is wrong with an account, as far as sums can tell; when in doubt, no. */
function agrees(facts: LiveAccount, books: ArchiveTotals): boolean {
  if (!books.isReachable && facts.carried)
    return compareLedger(facts, null).length === 0 && compareUsage(facts, null).length === 0;
  const archived = books.archivedOf(facts.account_id, facts.carried);
  return archived !== null && compareLedger(facts, archived).length === 0 && books.daysAgree(facts);
}

function strangersIn(books: ArchiveTotals, known: ReadonlySet<string>): Discrepancy[] {
  const strangers = [...books.accounts()].filter((account_id) => !known.has(account_id));
  return strangers.map((account_id) => ({
    account_id,
    email: '',
    check: 'archive',
    what: isUnknown,
    stands: books.entriesOf(account_id),
    should_be: 0,
    since_ms: null,
  }));
}

/** Does something with each of many, a few at a time. After a failure nothing more is begun. */
async function eachAtOnce<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  let isOver = false;
  const lane = async (): Promise<void> => {
    for (const item of rest) {
      if (isOver) return;
      await work(item);
    }
  };
  try {
    await Promise.all(Array.from({ length: atOnce }, lane));
  } finally {
    isOver = true;
  }
}
