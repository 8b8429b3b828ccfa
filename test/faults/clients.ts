/**
 * Keyed clients that record every response, and a check of these records against the ledger by the request id that each
 * response names. The check reads Redis itself and shares no code with the gateway.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import type { Customer } from './deployment.ts';

/** Timeout of a call. */
const ANSWER_WITHIN_MS = 60_000;
/** A full accept queue holds some hundred connections; the system retries slowly beyond that. */
const CONNECT_AT_ONCE = 250;
const CONNECT_EVERY_MS = 5;
const READ_AT_ONCE = 10_000;
const SETTLE_WITHIN_MS = 20_000;
const LOOK_EVERY_MS = 250;

export interface CallRecord {
  /** Null without a response. */
  request_id: string | null;
  account_id: string;
  /** Null without a complete response; -1 when the charge differs from the price. */
  status: number | null;
  /** `X-Credits-Charged` of a complete response. */
  charged: number;
  retry_after: string | undefined;
  /** The error code of an incomplete response. */
  cut?: string;
}

/** Price in credits: 1 for a country, 1 a row of data. */
const CALLS = [
  { path: '/v1/countries/KEN', price: 1 },
  { path: '/v1/rankings/alpha.life_expectancy', price: 1 },
  { path: '/v1/data?indicator=beta.long_series&countries=KEN&from=2000&to=2002', price: 3 },
];

/** Calls of this process, which take customers and paths in turn. */
let calls = 0;

/** Concurrent callers of one gateway. */
export class Clients implements AsyncDisposable {
  records: CallRecord[] = [];
  readonly #customers: readonly Customer[];
  #pool: Pool;
  #inFlight = 0;

  constructor(port: number, customers: readonly Customer[], connections: number) {
    this.#customers = customers;
    this.#pool = poolTo(port, connections);
  }

  /** Calls without an outcome yet. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Sends `count` calls at once. `onAnswer` receives how many have ended. */
  async calls(count: number, onAnswer: (ended: number) => void = () => {}): Promise<void> {
    let ended = 0;
    const calls: Promise<void>[] = [];
    while (calls.length < count) {
      if (calls.length > 0 && calls.length % CONNECT_AT_ONCE === 0) await pause(CONNECT_EVERY_MS);
      calls.push(this.call().then(() => onAnswer(++ended)));
    }
    await Promise.all(calls);
  }

  /** Removes and returns the records so far. */
  take(): CallRecord[] {
    const { records } = this;
    this.records = [];
    return records;
  }

  /** Keeps `workers` calls in flight while `isWanted`. */
  async keepCalling(workers: number, isWanted: () => boolean): Promise<void> {
    const work = async (): Promise<void> => {
      while (isWanted()) await this.call();
    };
    await Promise.all(Array.from({ length: workers }, work));
  }

  /** Waits until `count` calls have ended. */
  async untilRecorded(count: number): Promise<void> {
    while (this.records.length < count) await pause(1);
  }

  async call(): Promise<CallRecord> {
    const number = calls++;
    const customer = this.#customers[number % this.#customers.length];
    const call = CALLS[number % CALLS.length];
    if (!customer || !call) throw new Error('no customer');
    const headers = { authorization: `Bearer ${customer.key}` };
    this.#inFlight++;
    const record: CallRecord = {
      request_id: null,
      account_id: customer.account_id,
      status: null,
      charged: 0,
      retry_after: undefined,
    };
    try {
      const answer = await this.#pool.request({ path: call.path, method: 'GET', headers });
      record.request_id = String(answer.headers['x-request-id']);
      await answer.body.arrayBuffer();
      record.status = answer.statusCode;
      record.charged = Number(answer.headers['x-credits-charged'] ?? 0);
      record.retry_after = answer.headers['retry-after']?.toString();
      if (record.status === 200 && record.charged !== call.price) record.status = -1;
    } catch (error) {
      // The ledger shows whether it was charged.
      record.cut = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    }
    this.#inFlight--;
    this.records.push(record);
    return record;
  }

  /** Continues at another gateway. */
  async moveTo(port: number, connections: number): Promise<void> {
    await this.#pool.destroy();
    this.#pool = poolTo(port, connections);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.destroy();
  }
}

const poolTo = (port: number, connections: number): Pool =>
  new Pool(`http://127.0.0.1:${port}`, {
    connections,
    headersTimeout: ANSWER_WITHIN_MS,
    bodyTimeout: ANSWER_WITHIN_MS,
    // Reconnecting ten thousand connections at once would exceed the gateway's connection limit.
    keepAliveTimeout: ANSWER_WITHIN_MS,
    connect: { timeout: ANSWER_WITHIN_MS },
  });

export interface Entry {
  kind: string;
  delta: number;
  balance: number;
  fields: Record<string, string>;
}

/** The whole ledger of an account from Redis, oldest entry first. */
export async function readLedger(redis: RedisClient, account_id: string): Promise<Entry[]> {
  const ledger: Entry[] = [];
  for (let from = '-'; ; ) {
    const page = await redis.xrange(redisKeys.ledger(account_id), from, '+', 'COUNT', READ_AT_ONCE);
    for (const [, list] of page) {
      const fields: Record<string, string> = {};
      for (let at = 0; at < list.length; at += 2) fields[list[at] ?? ''] = list[at + 1] ?? '';
      ledger.push({
        kind: fields.kind ?? '',
        delta: Number(fields.delta),
        balance: Number(fields.balance),
        fields,
      });
    }
    const last = page.at(-1);
    if (!last || page.length < READ_AT_ONCE) return ledger;
    from = `(${last[0]}`;
  }
}

export interface LedgerCheck {
  calls: number;
  served: number;
  /** 503 with Retry-After. */
  refused: number;
  /** Without a complete response. */
  cutOff: number;
  /** Distinct error codes of those. */
  cuts: string[];
  /** Any other response. */
  unexpected: number;
  /** Served without the charge in the ledger. */
  missing: number;
  /** Charged more than the response says, or by more than one entry. */
  doubled: number;
  /** Refused or cut off, but charged. */
  chargedRefusals: number;
  /** Accounts whose balance differs from the sum of their ledger. */
  unbalanced: number;
}

/** What the ledgers say of one request id. */
interface Charge {
  delta: number;
  debits: number;
}
const NOT_CHARGED: Charge = { delta: 0, debits: 0 };

interface Charges {
  byRequest: Map<string, Charge>;
  /** Accounts whose balance differs from the sum of their ledger. */
  unbalanced: number;
}

async function readCharges(redis: RedisClient, customers: readonly Customer[]): Promise<Charges> {
  const byRequest = new Map<string, Charge>();
  let unbalanced = 0;
  for (const { account_id } of customers) {
    const ledger = await readLedger(redis, account_id);
    for (const { kind, delta, fields } of ledger) {
      if (fields.request === undefined) continue;
      const known = byRequest.get(fields.request) ?? NOT_CHARGED;
      byRequest.set(fields.request, {
        delta: known.delta + delta,
        debits: known.debits + (kind === 'debit' ? 1 : 0),
      });
    }
    const balance = Number(await redis.hget(redisKeys.account(account_id), 'balance'));
    const sum = ledger.reduce((total, { delta }) => total + delta, 0);
    if (balance !== sum || ledger.at(-1)?.balance !== balance) unbalanced++;
  }
  return { byRequest, unbalanced };
}

/** Charges that no response names, and how many of them were made twice. `records` are all calls of the customers. */
export async function unnamedCharges(
  records: readonly CallRecord[],
  redis: RedisClient,
  customers: readonly Customer[],
): Promise<{ charged: number; doubled: number }> {
  const named = new Set(records.map(({ request_id }) => request_id));
  const { byRequest } = await readCharges(redis, customers);
  const unnamed = [...byRequest].filter(([id]) => !named.has(id)).map(([, charge]) => charge);
  return {
    charged: unnamed.filter(({ delta }) => delta !== 0).length,
    doubled: unnamed.filter(({ debits }) => debits > 1).length,
  };
}

/** Compares records with the ledgers of their accounts. A call without any response cannot be found there. */
async function checkCalls(
  records: readonly CallRecord[],
  redis: RedisClient,
  customers: readonly Customer[],
): Promise<LedgerCheck> {
  const { byRequest, unbalanced } = await readCharges(redis, customers);
  const check: LedgerCheck = {
    calls: records.length,
    served: 0,
    refused: 0,
    cutOff: 0,
    cuts: [...new Set(records.flatMap(({ cut }) => cut ?? []))],
    unexpected: 0,
    missing: 0,
    doubled: 0,
    chargedRefusals: 0,
    unbalanced,
  };
  for (const record of records)
    checkCall(record, byRequest.get(record.request_id ?? '') ?? NOT_CHARGED, check);
  return check;
}

function checkCall(
  { status, charged, retry_after }: CallRecord,
  { delta, debits }: Charge,
  check: LedgerCheck,
): void {
  if (debits > 1) check.doubled++;
  if (status === 200) {
    check.served++;
    if (-delta > charged) check.doubled++;
    else if (-delta < charged) check.missing++;
    return;
  }
  if (status === null) check.cutOff++;
  else if (status === 503 && Number(retry_after) > 0) check.refused++;
  else check.unexpected++;
  if (delta !== 0) check.chargedRefusals++;
}

/** Repeats the check until refused calls are refunded, within a time limit. */
export async function checkSettledCalls(...of: Parameters<typeof checkCalls>): Promise<LedgerCheck> {
  const deadline = performance.now() + SETTLE_WITHIN_MS;
  for (;;) {
    const check = await checkCalls(...of);
    if (check.chargedRefusals === 0 || performance.now() > deadline) return check;
    await pause(LOOK_EVERY_MS);
  }
}

/** Figures of a check for the table. */
export const summarise = ({ calls, served, refused, cutOff, cuts }: LedgerCheck): string => {
  const number = (count: number): string => count.toLocaleString('en');
  const cut = cutOff > 0 ? `, ${number(cutOff)} cut off (${cuts.join(', ')})` : '';
  return `${number(calls)} calls: ${number(served)} served, ${number(refused)} refused with 503${cut}`;
};
