/**
 * Redis and the gateway's workers are killed under load, and answers get lost. Clients repeat what was not answered: nothing
 * is paid twice, and nothing is answered unpaid.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeEach, expect, test } from 'vitest';
import { AccountStore } from '../../gateway/commerce/accounts/account-store.ts';
import { stopAfterTests } from '../after-tests.ts';
import { useRedis } from '../redis.ts';
import { sendSignal } from '../signals.ts';
import { call, childrenOf } from './process/worker-harness.ts';
import { Program, type Started } from './program.ts';

const KILLS = 6;
const CREDITS = 1_000_000;

let gateway: Started;
let store: AccountStore;
const redis = await useRedis({ persistent: true });
const program = await stopAfterTests(Program.prepare());
beforeEach(async () => {
  gateway = await program.start({
    REDIS_URL: redis.url,
    WORKERS: '2',
    LOG_LEVEL: 'silent',
    FREE_PER_MINUTE: '1000000',
    FREE_PER_DAY: '100000000',
  });
  const client = await redis.connect();
  store = new AccountStore({ redis: client, now: Date.now, random: randomBytes, packs: [] });
  return () => program.killAll();
});

async function account(email: string): Promise<{ account_id: string; authorization: string }> {
  const { account_id } = await store.create({ email, verified: true, credits: CREDITS, by: 'test' });
  const { key } = await store.keys.mint(account_id);
  return { account_id, authorization: `Bearer ${key}` };
}

/** Kills Redis and a worker in turn, each after so many more answers. */
async function killInTurn(answered: () => number, between: number): Promise<void> {
  for (let kill = 0; kill < KILLS; kill += 1) {
    const before = answered();
    while (answered() < before + between) await pause(20);
    if (kill % 2 === 0) {
      await redis.kill();
      await redis.restart();
    } else {
      const [victim] = await childrenOf(gateway.child.pid);
      sendSignal(victim, 'SIGKILL');
    }
  }
}

test('a call that is repeated until it is answered is paid once', async () => {
  const CLIENTS = 12;
  /** Share of answers. */
  const LOST = 0.1;
  const PATH = '/v1/data?indicator=alpha.life_expectancy&countries=KEN';
  const { account_id, authorization } = await account('killed@example.org');
  const answered: { charged: number; tries: number }[] = [];
  let isOver = false;
  const ask = (key: string): Promise<Response | null> =>
    call(gateway.url + PATH, { authorization, 'idempotency-key': key }).catch(() => null);
  const untilAnswered = async (key: string): Promise<void> => {
    for (let tries = 1; ; tries += 1) {
      const answer = await ask(key);
      // The answer may be cut off after its head: the client has it only when it has all of it.
      const body = await answer?.text().catch(() => null);
      // On the way back an answer is lost now and then, too.
      const isLost = tries === 1 && Math.random() < LOST;
      if (answer?.status === 200 && body?.endsWith('}') && !isLost) {
        answered.push({ charged: Number(answer.headers.get('x-credits-charged')), tries });
        return;
      }
      expect([undefined, 200, 503]).toContain(answer?.status);
      await pause(20);
    }
  };
  const clients = Array.from({ length: CLIENTS }, async (_, number) => {
    for (let calls = 0; !isOver; calls += 1) await untilAnswered(`client-${number}.${calls}`);
  });
  await killInTurn(() => answered.length, 50);
  isOver = true;
  await Promise.all(clients);

  const price = Number(JSON.parse((await (await ask('last'))?.text()) ?? '{}').meta.count);
  const paid = (answered.length + 1) * price;
  // Reversals of the calls whose outcome a living gateway did not learn.
  await expect.poll(async () => (await store.get(account_id)).credits.lifetime_spent).toBe(paid);
  expect((await store.get(account_id)).credits.balance).toBe(CREDITS - paid);
  expect(answered.some(({ tries }) => tries > 1)).toBe(true);
  expect(answered.some(({ charged, tries }) => tries > 1 && charged === 0)).toBe(true);
});

interface Reader {
  account_id: string;
  authorization: string;
  /** Answers that the client had whole, and the bytes of all that were begun. */
  answered: number;
  bytes: number;
}

test('a file that is read in parts is paid once a lease, and never read unpaid', async () => {
  const ACCOUNTS = 10;
  /** Of one account at a time. */
  const CLIENTS = 3;
  /** Rows of the fixture's series. */
  const PRICE = 2750;
  const PATH = '/v1/files/beta.long_series.parquet';
  const PART = 4_096;
  const readers: Reader[] = [];
  for (let at = 0; at < ACCOUNTS; at += 1)
    readers.push({ ...(await account(`reader-${at}@example.org`)), answered: 0, bytes: 0 });
  let size = 0;
  let isOver = false;
  const readPart = async (reader: Reader): Promise<void> => {
    const from = Math.floor(Math.random() * Math.max(1, size - PART));
    const headers = { authorization: reader.authorization, range: `bytes=${from}-${from + PART - 1}` };
    const answer = await call(gateway.url + PATH, headers).catch(() => null);
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
  await killInTurn(() => readers.reduce((sum, { answered }) => sum + answered, 0), 500);
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
