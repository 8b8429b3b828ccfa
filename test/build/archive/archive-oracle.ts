/**
 * Who saw every entry while it was live, and holds archive and live together against that: each once, none in two parts,
 * every balance the sum of its ledger, and the usage of archived days as it was counted.
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

/** Fields in one order, whichever they were read in. */
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

  /** Entries seen so far. */
  get seen(): number {
    return [...this.#ledgers.values(), this.#audit].reduce((sum, { size }) => sum + size, 0);
  }

  /** Notes what is live. To be called after every writing, before anything is archived. */
  async note(): Promise<void> {
    for (const account_id of await this.#redis.zrange('accounts', '0', '-1')) {
      const seen = this.#ledgers.get(account_id) ?? new Map<string, string>();
      this.#ledgers.set(account_id, seen);
      for (const [id, fields] of await this.#live(account_id))
        if (!seen.has(id)) seen.set(id, textOf(fields));
    }
    for (const [id, fields] of await stream(this.#redis, AUDIT)) this.#audit.set(id, textOf(fields));
  }

  /**
   * What is wrong, in sentences; empty when archive and live together are exactly what was seen. Written usage is held
   * against its counters unless told that those are gone.
   */
  async wrongs({ usage = true } = {}): Promise<string[]> {
    const archived = await archivedLedgers(this.#dir);
    const wrongs = [...archived.keys()]
      .filter((account_id) => !this.#ledgers.has(account_id))
      .map((account_id) => `${account_id} was never seen`);
    for (const [account_id, seen] of this.#ledgers) {
      const carried = await this.#redis.hgetall(`{a:${account_id}}:carried`);
      const live = await this.#live(account_id);
      const own = archived.get(account_id) ?? [];
      const whole = integerOf(own, carried, live);
      const balance = Number(await this.#redis.hget(`{a:${account_id}}:account`, 'balance'));
      const found = [
        ...wrongsOf(seen, own, whole, carried),
        ...wrongsOfBalances(whole, carried, live, balance),
      ];
      wrongs.push(...found.map((wrong) => `${account_id}: ${wrong}`));
    }
    return [...wrongs, ...(await this.#wrongsOfAudit()), ...(usage ? await this.#wrongsOfUsage() : [])];
  }

  /** Request ids of all debits of an account, as often as they stand in archive and live ledger. */
  async debitsOf(account_id: string): Promise<string[]> {
    const archived = (await archivedLedgers(this.#dir)).get(account_id) ?? [];
    const carried = await this.#redis.hgetall(`{a:${account_id}}:carried`);
    const whole = integerOf(archived, carried, await this.#live(account_id));
    return whole.filter(([, { kind }]) => kind === 'debit').map(([, { request }]) => request ?? '');
  }

  #live(account_id: string): Promise<Entry[]> {
    return stream(this.#redis, `{a:${account_id}}:ledger`);
  }

  async #wrongsOfAudit(): Promise<string[]> {
    const own = await archivedAudit(this.#dir);
    const carried = await this.#redis.hgetall('{audit}:carried');
    const live = await stream(this.#redis, AUDIT);
    const wrongs = wrongsOf(this.#audit, own, integerOf(own, carried, live), carried);
    for (const subject of new Set(live.map(([, fields]) => fields.subject ?? ''))) {
      const of = await stream(this.#redis, `{audit}:of:${encodeURIComponent(subject)}`);
      const ids = live.filter(([, fields]) => fields.subject === subject).map(([id]) => id);
      if (of.map(([id]) => id).join() !== ids.join()) wrongs.push(`${subject} is not as the log says`);
    }
    return wrongs.map((wrong) => `audit: ${wrong}`);
  }

  /** Counters stay live for long, so every written day can be held against them. */
  async #wrongsOfUsage(): Promise<string[]> {
    const wrongs: string[] = [];
    for (const file of readdirSync(join(this.#dir, 'usage')).filter((name) => !name.startsWith('.'))) {
      const date = file.slice(0, 10);
      const rows = Map.groupBy(await usageRows(this.#dir, date), (row) => String(row.account_id));
      for (const account_id of this.#ledgers.keys()) {
        const counted = await this.#redis.hgetall(`{a:${account_id}}:usage:${date}`);
        const written = Object.fromEntries((rows.get(account_id) ?? []).flatMap(countersOf));
        if (textOf(counted) !== textOf(written)) wrongs.push(`${account_id}: usage of ${date} differs`);
      }
    }
    return wrongs;
  }
}

const countersOf = (row: Row): [string, string][] =>
  COUNTS.filter((name) => String(row[name]) !== '0').map((name) => [
    `${String(row.route)}|${name}`,
    String(row[name]),
  ]);

/** What a reader takes: of the parts what has left, and everything live. */
const integerOf = (archived: readonly Entry[], { through }: Fields, live: readonly Entry[]): Entry[] => [
  ...archived.filter(([id]) => through !== undefined && isAtOrBefore(id, through)),
  ...live,
];

function wrongsOf(
  seen: Seen,
  archived: readonly Entry[],
  whole: readonly Entry[],
  carried: Fields,
): string[] {
  const wrongs: string[] = [];
  const ids = archived.map(([id]) => id);
  if (new Set(ids).size !== ids.length) wrongs.push('an entry lies in two parts');
  const gone = ids.filter((id) => carried.through !== undefined && isAtOrBefore(id, carried.through));
  if (gone.length !== Number(carried.entries ?? 0))
    wrongs.push(`${gone.length} entries have left, not ${carried.entries}`);
  if (gone.at(-1) !== carried.through) wrongs.push(`the last that left is ${gone.at(-1)}`);
  const read = new Set(whole.map(([id]) => id));
  if (read.size !== whole.length) wrongs.push(`${whole.length - read.size} entries are read twice`);
  for (const id of seen.keys()) if (!read.has(id)) wrongs.push(`${id} is lost`);
  for (const [id, fields] of whole)
    if (seen.get(id) !== textOf(fields)) wrongs.push(`${id} is not as it was seen`);
  return wrongs;
}

function wrongsOfBalances(
  whole: readonly Entry[],
  carried: Fields,
  live: readonly Entry[],
  standing: number,
): string[] {
  const wrongs: string[] = [];
  let balance = 0;
  for (const [id, fields] of whole) {
    balance += Number(fields.delta);
    if (balance !== Number(fields.balance)) wrongs.push(`the balance after ${id} is ${balance}`);
  }
  const moved = live.reduce((sum, [, { delta }]) => sum + Number(delta), 0);
  if (Number(carried.balance ?? 0) + moved !== standing)
    wrongs.push(`${carried.balance} and ${moved} live are not ${standing}`);
  if (balance !== standing) wrongs.push(`the ledger closes with ${balance}, the account has ${standing}`);
  return wrongs;
}
