/**
 * Test oracle of the archive. Records every entry while it is live, and compares archive and live entries with that: each
 * exactly once, every balance the sum of its ledger, archived usage as it was counted.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import {
  archivedAudit,
  archivedLedgers,
  type Fields,
  isAtOrBefore,
  type Row,
  stream,
  usageRows,
} from './archive-contents.ts';

type Entry = [id: string, fields: Fields];
type Seen = Map<string, string>;

const AUDIT = '{audit}:log';
const COUNTS = ['requests', 'errors', 'rows', 'credits'] as const;

/** Fields in a canonical order. */
const textOf = (fields: Fields): string =>
  JSON.stringify(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1)));

export class ArchiveOracle {
  readonly #redis: RedisClient;
  readonly #dir: string;
  readonly #ledgers = new Map<string, Seen>();
  readonly #audit: Seen = new Map();

  constructor(redis: RedisClient, dir: string) {
    this.#redis = redis;
    this.#dir = dir;
  }

  /** Number of entries recorded so far. */
  get seen(): number {
    return [...this.#ledgers.values(), this.#audit].reduce((sum, { size }) => sum + size, 0);
  }

  /** Records the live entries. Call it after every write and before an archive run. */
  async record(): Promise<void> {
    for (const account_id of await this.#redis.zrange('accounts', '0', '-1')) {
      const seen = this.#ledgers.get(account_id) ?? new Map<string, string>();
      this.#ledgers.set(account_id, seen);
      for (const [id, fields] of await this.#live(account_id))
        if (!seen.has(id)) seen.set(id, textOf(fields));
    }
    for (const [id, fields] of await stream(this.#redis, AUDIT)) this.#audit.set(id, textOf(fields));
  }

  /**
   * What is problem, in sentences; empty when archive and live together are exactly what was seen. Written usage is held
   * against its counters unless told that those are gone.
   */
  async problems({ usage = true } = {}): Promise<string[]> {
    const archived = await archivedLedgers(this.#dir);
    const problems = [...archived.keys()]
      .filter((account_id) => !this.#ledgers.has(account_id))
      .map((account_id) => `${account_id} was never seen`);
    for (const [account_id, seen] of this.#ledgers) {
      const archivedThrough = await this.#redis.hgetall(`{a:${account_id}}:carried`);
      const live = await this.#live(account_id);
      const own = archived.get(account_id) ?? [];
      const whole = integerOf(own, archivedThrough, live);
      const balance = Number(await this.#redis.hget(`{a:${account_id}}:account`, 'balance'));
      const found = [
        ...entryProblems(seen, own, whole, archivedThrough),
        ...balanceProblems(whole, archivedThrough, live, balance),
      ];
      problems.push(...found.map((problem) => `${account_id}: ${problem}`));
    }
    return [...problems, ...(await this.#auditProblems()), ...(usage ? await this.#usageProblems() : [])];
  }

  /** Request ids of all debits of an account in archive and live ledger, repeated ones included. */
  async debitsOf(account_id: string): Promise<string[]> {
    const archived = (await archivedLedgers(this.#dir)).get(account_id) ?? [];
    const archivedThrough = await this.#redis.hgetall(`{a:${account_id}}:carried`);
    const whole = integerOf(archived, archivedThrough, await this.#live(account_id));
    return whole.filter(([, { kind }]) => kind === 'debit').map(([, { request }]) => request ?? '');
  }

  #live(account_id: string): Promise<Entry[]> {
    return stream(this.#redis, `{a:${account_id}}:ledger`);
  }

  async #auditProblems(): Promise<string[]> {
    const own = await archivedAudit(this.#dir);
    const archivedThrough = await this.#redis.hgetall('{audit}:carried');
    const live = await stream(this.#redis, AUDIT);
    const problems = entryProblems(this.#audit, own, integerOf(own, archivedThrough, live), archivedThrough);
    for (const subject of new Set(live.map(([, fields]) => fields.subject ?? ''))) {
      const of = await stream(this.#redis, `{audit}:of:${encodeURIComponent(subject)}`);
      const ids = live.filter(([, fields]) => fields.subject === subject).map(([id]) => id);
      if (of.map(([id]) => id).join() !== ids.join()) problems.push(`${subject} is not as the log says`);
    }
    return problems.map((problem) => `audit: ${problem}`);
  }

  /** Counters outlive a test, so every archived day can be compared with them. */
  async #usageProblems(): Promise<string[]> {
    const problems: string[] = [];
    for (const file of readdirSync(join(this.#dir, 'usage')).filter((name) => !name.startsWith('.'))) {
      const date = file.slice(0, 10);
      const rows = Map.groupBy(await usageRows(this.#dir, date), (row) => String(row.account_id));
      for (const account_id of this.#ledgers.keys()) {
        const counted = await this.#redis.hgetall(`{a:${account_id}}:usage:${date}`);
        const written = Object.fromEntries((rows.get(account_id) ?? []).flatMap(countersOf));
        if (textOf(byRoute(counted)) !== textOf(written))
          problems.push(`${account_id}: usage of ${date} differs`);
      }
    }
    return problems;
  }
}

/** Sums what was counted for each key: the archive keeps usage by route. */
function byRoute(counted: Fields): Record<string, string> {
  const sums: Record<string, string> = {};
  for (const [field, value] of Object.entries(counted)) {
    const name = field.replace(/\|[^|]*\|/, '|');
    sums[name] = String(Number(sums[name] ?? 0) + Number(value));
  }
  return sums;
}

const countersOf = (row: Row): [string, string][] =>
  COUNTS.filter((name) => String(row[name]) !== '0').map((name) => [
    `${String(row.route)}|${name}`,
    String(row[name]),
  ]);

/** What a reader takes: from the parts what was trimmed, and everything live. */
const integerOf = (archived: readonly Entry[], { through }: Fields, live: readonly Entry[]): Entry[] => [
  ...archived.filter(([id]) => through !== undefined && isAtOrBefore(id, through)),
  ...live,
];

function entryProblems(
  seen: Seen,
  archived: readonly Entry[],
  whole: readonly Entry[],
  archivedThrough: Fields,
): string[] {
  const problems: string[] = [];
  const ids = archived.map(([id]) => id);
  if (new Set(ids).size !== ids.length) problems.push('an entry lies in two parts');
  const gone = ids.filter(
    (id) => archivedThrough.through !== undefined && isAtOrBefore(id, archivedThrough.through),
  );
  if (gone.length !== Number(archivedThrough.entries ?? 0))
    problems.push(`${gone.length} entries have left, not ${archivedThrough.entries}`);
  if (gone.at(-1) !== archivedThrough.through) problems.push(`the last that left is ${gone.at(-1)}`);
  const read = new Set(whole.map(([id]) => id));
  if (read.size !== whole.length) problems.push(`${whole.length - read.size} entries are read twice`);
  for (const id of seen.keys()) if (!read.has(id)) problems.push(`${id} is lost`);
  for (const [id, fields] of whole)
    if (seen.get(id) !== textOf(fields)) problems.push(`${id} is not as it was seen`);
  return problems;
}

function balanceProblems(
  whole: readonly Entry[],
  archivedThrough: Fields,
  live: readonly Entry[],
  balanceNow: number,
): string[] {
  const problems: string[] = [];
  let balance = 0;
  for (const [id, fields] of whole) {
    balance += Number(fields.delta);
    if (balance !== Number(fields.balance)) problems.push(`the balance after ${id} is ${balance}`);
  }
  const moved = live.reduce((sum, [, { delta }]) => sum + Number(delta), 0);
  if (Number(archivedThrough.balance ?? 0) + moved !== balanceNow)
    problems.push(`${archivedThrough.balance} and ${moved} live are not ${balanceNow}`);
  if (balance !== balanceNow)
    problems.push(`the ledger closes with ${balance}, the account has ${balanceNow}`);
  return problems;
}
