/**
 * Keyed clients that write down what they were told, and the judgement of it: every answer is looked up in the ledger
 * by its request id, entry by entry, without asking the code that wrote it.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import type { Customer } from './deployment.ts';

/** Every call must have come to an end within this. */
const ANSWER_WITHIN_MS = 60_000;
/** A listener's queue holds some hundred new connections, and the system is slow to try again when it is full. */
const CONNECT_AT_ONCE = 250;
const CONNECT_EVERY_MS = 5;
const READ_AT_ONCE = 10_000;
const SETTLE_WITHIN_MS = 20_000;
const LOOK_EVERY_MS = 250;

export interface Told {
  request_id: string;
  account_id: string;
  /** Null when no whole answer came. */
  status: number | null;
  /** X-Credits-Charged of a whole answer. */
  charged: number;
  retry_after: string | undefined;
  /** Why no whole answer came, in one word. */
  cut?: string;
}

/** Calls with prices of their own: one country for 1 credit, three rows for 3. */
const CALLS = [
  { path: '/v1/countries/KEN', price: 1 },
  { path: '/v1/rankings/alpha.life_expectancy', price: 1 },
  { path: '/v1/data?indicator=beta.long_series&countries=KEN&from=2000&to=2002', price: 3 },
];

/** Request ids of this process are told apart by these. */
let calls = 0;

/** Where clients call; what they were told is kept until it is judged. */
export class Clients implements AsyncDisposable {
  told: Told[] = [];
  readonly #customers: readonly Customer[];
  #pool: Pool;
  #inFlight = 0;

  constructor(port: number, customers: readonly Customer[], connections: number) {
    this.#customers = customers;
    this.#pool = poolTo(port, connections);
  }

  /** Calls that have not come to an end. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** All at a time, begun within moments; `onAnswer` is told how many have come to an end. */
  async calls(count: number, onAnswer: (ended: number) => void = () => {}): Promise<void> {
    let ended = 0;
    const calls: Promise<void>[] = [];
    while (calls.length < count) {
      if (calls.length > 0 && calls.length % CONNECT_AT_ONCE === 0) await pause(CONNECT_EVERY_MS);
      calls.push(this.call().then(() => onAnswer(++ended)));
    }
    await Promise.all(calls);
  }

  /** What was told since it was last taken. */
  take(): Told[] {
    const { told } = this;
    this.told = [];
    return told;
  }

  /** So many calls at a time, until they are no longer wanted. */
  async keepCalling(workers: number, isWanted: () => boolean): Promise<void> {
    const work = async (): Promise<void> => {
      while (isWanted()) await this.call();
    };
    await Promise.all(Array.from({ length: workers }, work));
  }

  /** Waits until so many calls have come to an end. */
  async untilTold(count: number): Promise<void> {
    while (this.told.length < count) await pause(1);
  }

  async call(): Promise<Told> {
    const number = calls++;
    const customer = this.#customers[number % this.#customers.length];
    const call = CALLS[number % CALLS.length];
    if (!customer || !call) throw new Error('there is nobody to call');
    const request_id = `call-${number}`;
    const headers = { authorization: `Bearer ${customer.key}`, 'x-request-id': request_id };
    this.#inFlight++;
    const told: Told = {
      request_id,
      account_id: customer.account_id,
      status: null,
      charged: 0,
      retry_after: undefined,
    };
    try {
      const answer = await this.#pool.request({ path: call.path, method: 'GET', headers });
      await answer.body.arrayBuffer();
      told.status = answer.statusCode;
      told.charged = Number(answer.headers['x-credits-charged'] ?? 0);
      told.retry_after = answer.headers['retry-after']?.toString();
      if (told.status === 200 && told.charged !== call.price) told.status = -1;
    } catch (error) {
      // What became of it stands in the ledger.
      told.cut = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    }
    this.#inFlight--;
    this.told.push(told);
    return told;
  }

  /** The same customers go on at another gateway. */
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
    // Ten thousand new connections beside ten thousand that are just closing are more than a gateway takes.
    keepAliveTimeout: ANSWER_WITHIN_MS,
    connect: { timeout: ANSWER_WITHIN_MS },
  });

export interface Entry {
  kind: string;
  delta: number;
  balance: number;
  fields: Record<string, string>;
}

/** The whole ledger of an account, oldest first, as Redis holds it. */
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

export interface Judgement {
  calls: number;
  served: number;
  /** 503 with Retry-After. */
  refused: number;
  /** Cut off without a whole answer. */
  broken: number;
  /** Why, each reason once. */
  cuts: string[];
  /** Any other answer. */
  strange: number;
  /** Served, and the ledger does not hold the charge. */
  missing: number;
  /** Charged more than the answer said, or by more than one entry. */
  doubled: number;
  /** Refused or broken, and charged all the same. */
  unanswered: number;
  /** Accounts whose balance is not the sum of their ledger. */
  unbalanced: number;
}

/** Holds what clients were told against the ledgers of their accounts. */
export async function judge(
  told: readonly Told[],
  redis: RedisClient,
  customers: readonly Customer[],
): Promise<Judgement> {
  const net = new Map<string, { delta: number; debits: number }>();
  let unbalanced = 0;
  for (const { account_id } of customers) {
    const ledger = await readLedger(redis, account_id);
    for (const { kind, delta, fields } of ledger) {
      if (fields.request === undefined) continue;
      const known = net.get(fields.request) ?? { delta: 0, debits: 0 };
      net.set(fields.request, {
        delta: known.delta + delta,
        debits: known.debits + (kind === 'debit' ? 1 : 0),
      });
    }
    const balance = Number(await redis.hget(redisKeys.account(account_id), 'balance'));
    const sum = ledger.reduce((total, { delta }) => total + delta, 0);
    if (balance !== sum || ledger.at(-1)?.balance !== balance) unbalanced++;
  }
  const judgement: Judgement = {
    calls: told.length,
    served: 0,
    refused: 0,
    broken: 0,
    cuts: [...new Set(told.flatMap(({ cut }) => cut ?? []))],
    strange: 0,
    missing: 0,
    doubled: 0,
    unanswered: 0,
    unbalanced,
  };
  for (const one of told) judgeOne(one, net.get(one.request_id) ?? { delta: 0, debits: 0 }, judgement);
  return judgement;
}

function judgeOne(
  { status, charged, retry_after }: Told,
  { delta, debits }: { delta: number; debits: number },
  judgement: Judgement,
): void {
  if (debits > 1) judgement.doubled++;
  if (status === 200) {
    judgement.served++;
    if (-delta > charged) judgement.doubled++;
    else if (-delta < charged) judgement.missing++;
    return;
  }
  if (status === null) judgement.broken++;
  else if (status === 503 && Number(retry_after) > 0) judgement.refused++;
  else judgement.strange++;
  if (delta !== 0) judgement.unanswered++;
}

/** Judges until charges of refused calls have been given back, for some seconds at most. */
export async function judgeSettled(...of: Parameters<typeof judge>): Promise<Judgement> {
  const deadline = performance.now() + SETTLE_WITHIN_MS;
  for (;;) {
    const judgement = await judge(...of);
    if (judgement.unanswered === 0 || performance.now() > deadline) return judgement;
    await pause(LOOK_EVERY_MS);
  }
}

/** The judgement in the words of the table. */
export const told = ({ calls, served, refused, broken, cuts }: Judgement): string => {
  const number = (count: number): string => count.toLocaleString('en');
  const cut = broken > 0 ? `, ${number(broken)} cut off (${cuts.join(', ')})` : '';
  return `${number(calls)} calls: ${number(served)} served, ${number(refused)} refused with 503${cut}`;
};
