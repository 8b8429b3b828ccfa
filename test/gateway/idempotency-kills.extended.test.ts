/**
 * Redis and the gateway's workers are killed under load, and answers get lost. Clients repeat each call under its Idempotency-Key until it is
 * answered: each is paid once, and none is answered unpaid.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AccountStore } from '../../gateway/commerce/accounts/account-store.ts';
import { startRedis, type TestRedis } from '../redis.ts';
import { sendSignal } from '../signals.ts';
import { call, childrenOf } from './process/worker-harness.ts';
import { Program } from './program.ts';

const KILLS = 6;
const CLIENTS = 12;
/** Share of answers. */
const LOST = 0.1;
const CREDITS = 1_000_000;
const PATH = '/v1/data?indicator=alpha.life_expectancy&countries=KEN';

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

interface Answered {
  key: string;
  charged: number;
  tries: number;
}

test('a call that is repeated until it is answered is paid once', { timeout: 900_000 }, async () => {
  const settings = {
    REDIS_URL: redis.url,
    WORKERS: '2',
    FREE_PER_MINUTE: '1000000',
    FREE_PER_DAY: '100000000',
  };
  const { child, url } = await program.start({ ...settings, LOG_LEVEL: 'silent' });
  const client = await redis.connect();
  const random = (size: number): Buffer => Buffer.alloc(size, 5);
  const store = new AccountStore({ redis: client, now: Date.now, random, packs: [] });
  const email = 'killed@example.org';
  const { account_id } = await store.create({ email, verified: true, credits: CREDITS, by: 'test' });
  const { key: authorization } = await store.keys.mint(account_id);

  const answered: Answered[] = [];
  let isOver = false;
  const ask = async (key: string): Promise<Response | null> => {
    const headers = { authorization: `Bearer ${authorization}`, 'idempotency-key': key };
    return call(url + PATH, headers).catch(() => null);
  };
  const untilAnswered = async (key: string): Promise<void> => {
    for (let tries = 1; ; tries += 1) {
      const answer = await ask(key);
      // The answer may be cut off after its head: the client has it only when it has all of it.
      const body = await answer?.text().catch(() => null);
      // On the way back an answer is lost now and then, too.
      const isLost = tries === 1 && Math.random() < LOST;
      if (answer?.status === 200 && body?.endsWith('}') && !isLost) {
        answered.push({ key, charged: Number(answer.headers.get('x-credits-charged')), tries });
        return;
      }
      expect([undefined, 200, 503]).toContain(answer?.status);
      await pause(20);
    }
  };
  const clients = Array.from({ length: CLIENTS }, async (_, number) => {
    for (let calls = 0; !isOver; calls += 1) await untilAnswered(`client-${number}.${calls}`);
  });
  for (let kill = 0; kill < KILLS; kill += 1) {
    const before = answered.length;
    while (answered.length < before + 50) await pause(20);
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

  const price = Number(JSON.parse((await (await ask('last'))?.text()) ?? '{}').meta.count);
  const paid = (answered.length + 1) * price;
  // Reversals of the calls whose outcome a living gateway did not learn.
  await expect.poll(async () => (await store.get(account_id)).credits.lifetime_spent).toBe(paid);
  expect((await store.get(account_id)).credits.balance).toBe(CREDITS - paid);
  expect(answered.some(({ tries }) => tries > 1)).toBe(true);
  expect(answered.some(({ charged, tries }) => tries > 1 && charged === 0)).toBe(true);
});
