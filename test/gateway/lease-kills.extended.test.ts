/**
 * Redis and the gateway's workers are killed under load, and answers get lost. Clients read a file part by part, each part
 * until they have it: no account pays a file more often than leases were begun, and none reads it unpaid.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AccountStore } from '../../gateway/commerce/accounts/account-store.ts';
import { startRedis, type TestRedis } from '../redis.ts';
import { sendSignal } from '../signals.ts';
import { call, childrenOf } from './process/worker-harness.ts';
import { Program } from './program.ts';

const KILLS = 6;
const ACCOUNTS = 10;
/** Of one account at a time. */
const CLIENTS = 3;
const CREDITS = 1_000_000;
/** Rows of the fixture's series. */
const PRICE = 2750;
const PATH = '/v1/files/beta.long_series.parquet';
const PART = 4_096;

let redis: TestRedis;
let program: Program;
beforeAll(async () => {
  redis = await startRedis({ persistent: true });
  program = await Program.prepare();
});
afterAll(async () => {
  await program[Symbol.asyncDispose]();
  await redis.stop();
});

interface Reader {
  account_id: string;
  authorization: string;
  /** Answers that the client had whole, and the bytes of all that were begun. */
  answered: number;
  bytes: number;
}

test('a file is paid once a lease, and never read unpaid', { timeout: 900_000 }, async () => {
  const settings = {
    ...{ REDIS_URL: redis.url, WORKERS: '2', LOG_LEVEL: 'silent' },
    ...{ FREE_PER_MINUTE: '1000000', FREE_PER_DAY: '100000000' },
  };
  const { child, url } = await program.start(settings);
  const client = await redis.connect();
  const store = new AccountStore({ redis: client, now: Date.now, random: randomBytes, packs: [] });
  const readers: Reader[] = [];
  for (let at = 0; at < ACCOUNTS; at += 1) {
    const email = `reader-${at}@example.org`;
    const { account_id } = await store.create({ email, verified: true, credits: CREDITS, by: 'test' });
    const { key } = await store.keys.mint(account_id);
    readers.push({ account_id, authorization: `Bearer ${key}`, answered: 0, bytes: 0 });
  }

  let size = 0;
  let isOver = false;
  const readPart = async (reader: Reader): Promise<void> => {
    const from = Math.floor(Math.random() * Math.max(1, size - PART));
    const range = `bytes=${from}-${from + PART - 1}`;
    const answer = await call(url + PATH, { authorization: reader.authorization, range }).catch(() => null);
    if (answer === null || answer.status === 503) return pause(20);
    expect(answer.status).toBe(206);
    size = Number(answer.headers.get('content-range')?.split('/')[1]);
    reader.bytes += PART;
    const body = await answer.arrayBuffer().catch(() => null);
    if (body?.byteLength === PART) reader.answered += 1;
  };
  const clients = readers.flatMap((reader) =>
    Array.from({ length: CLIENTS }, async () => {
      while (!isOver) await readPart(reader);
    }),
  );
  const answeredByNow = () => readers.reduce((sum, { answered }) => sum + answered, 0);
  for (let kill = 0; kill < KILLS; kill += 1) {
    const before = answeredByNow();
    while (answeredByNow() < before + 500) await pause(20);
    if (kill % 2 === 0) {
      await redis.kill();
      await redis.restart();
    } else {
      const [victim] = await childrenOf(child.pid);
      sendSignal(victim, 'SIGKILL');
    }
  }
  isOver = true;
  await Promise.all(clients);

  for (const { account_id, bytes, answered } of readers) {
    expect(answered).toBeGreaterThan(0);
    const { credits } = await store.get(account_id);
    expect(credits.balance).toBe(CREDITS - credits.lifetime_spent);
    const leases = credits.lifetime_spent / PRICE;
    expect(Number.isInteger(leases)).toBe(true);
    // What was sent is covered by what was paid.
    expect(bytes).toBeLessThanOrEqual(leases * 20 * size);
    // A part that is lost on the way counts, too: but for those in flight at a kill, no lease began early.
    const spent = bytes / (20 * size);
    expect(leases).toBeLessThanOrEqual(Math.ceil(spent) + KILLS);
  }
});
