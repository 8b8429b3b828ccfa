/**
 * Measures what `admit` costs beyond its script: `node test/gateway/api/metering/measure-admit.ts [calls]`. Prints calls a second and
 * processor time of this process for each call, of `admit` and of the same EVALSHA sent by ioredis as it comes, with and without its
 * auto-pipelining, on one connection to a private Redis without persistence. A measurement, not a test.
 */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { dayOf, minuteOf, monthOf, redisKeys } from '../../../../data/schema/redis-keys.ts';
import { startRedis } from '../../../redis.ts';
import { admissionOf, createWorld, UNLIMITED } from './harness.ts';

const CALLS = Number(process.argv[2] ?? 100_000);
const ROUNDS = 3;

const server = await startRedis();
const world = createWorld(await server.connect(), UNLIMITED);
const { apiKey, account_id } = await world.customer({ credits: 1e12 });
const path = server.url.replace('unix://', '');
const script = readFileSync(
  new URL('../../../../gateway/api/metering/lua/admit.lua', import.meta.url),
  'utf8',
);
const sha = createHash('sha1').update(script).digest('hex');

const minute = minuteOf(world.clock.ms);
const day = dayOf(world.clock.ms);
const names = [
  redisKeys.account(account_id),
  redisKeys.keys(account_id),
  redisKeys.minute(account_id, minute),
  redisKeys.day(account_id, day),
  redisKeys.ledger(account_id),
  redisKeys.usage(account_id, day),
  redisKeys.debits(account_id, minute),
];
const { route, request_id } = admissionOf(apiKey);
let debits = 0;
const bare = (redis: Redis) => () => {
  const values = [world.clock.ms, apiKey.key_id, `bare${debits++}`, 1, 0, '0', route, request_id];
  const limits = Object.entries(UNLIMITED).flatMap(([name, limit]) =>
    name.startsWith('PAGES') ? [] : [limit],
  );
  return redis.evalsha(sha, 7, ...names, ...values, ...limits, monthOf(world.clock.ms), '');
};

const plain = new Redis({ path });
const pipelined = new Redis({ path, enableAutoPipelining: true });
await plain.script('LOAD', script);

const contenders: Record<string, () => Promise<unknown>> = {
  'EVALSHA, each as it comes': bare(plain),
  'EVALSHA, auto-pipelined': bare(pipelined),
  admit: () => world.metering.admit(admissionOf(apiKey)),
};

async function measure(
  call: () => Promise<unknown>,
  at_once: number,
): Promise<{ rate: number; cpu_us: number }> {
  let left = CALLS;
  const worker = async (): Promise<void> => {
    while (left-- > 0) await call();
  };
  const cpu = process.cpuUsage();
  const start = performance.now();
  await Promise.all(Array.from({ length: at_once }, worker));
  const { user, system } = process.cpuUsage(cpu);
  return { rate: (CALLS / (performance.now() - start)) * 1000, cpu_us: (user + system) / CALLS };
}

for (const at_once of [64, 128, 256]) {
  for (const [name, call] of Object.entries(contenders)) {
    const runs = [];
    for (let round = 0; round < ROUNDS; round++) {
      await plain.del(redisKeys.ledger(account_id), redisKeys.debits(account_id, minute));
      // All debits fall into one minute: keep the hash as small as that of a busy account.
      runs.push(await measure(call, at_once));
    }
    runs.sort((a, b) => a.rate - b.rate);
    const { rate, cpu_us } = runs[Math.floor(ROUNDS / 2)] ?? { rate: 0, cpu_us: 0 };
    console.log(
      `${String(at_once).padStart(3)} at once  ${name.padEnd(26)} ${rate.toFixed(0).padStart(7)}/s  ${cpu_us.toFixed(2)} µs`,
    );
  }
}
for (const redis of [plain, pipelined]) redis.disconnect();
await server.stop();
