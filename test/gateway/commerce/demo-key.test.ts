/** The demo key of `npm start`: stable, private, and always usable. */
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { ensureDemoKey } from '../../../gateway/commerce/accounts/demo-key.ts';
import { flushRedis } from '../../redis.ts';
import { admissionOf, createWorld, UNLIMITED, type World } from '../api/metering/harness.ts';
import { useStores } from './stores.ts';

let world: World;
let dir: string;
useStores(({ redis }) => {
  world = createWorld(redis, UNLIMITED);
});
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'alm-demo-'));
  return () => rm(dir, { recursive: true, force: true });
});

async function works(key: string): Promise<boolean> {
  const apiKey = await world.metering.resolveKey(`Bearer ${key}`);
  return apiKey !== null && (await world.metering.admit(admissionOf(apiKey))).kind === 'admitted';
}

describe('the demo key', () => {
  it('is stored in a file that only its owner can read', async () => {
    const key = await ensureDemoKey(world.store, dir);
    expect(await readFile(join(dir, 'demo-key'), 'utf8')).toBe(`${key}\n`);
    expect((await stat(join(dir, 'demo-key'))).mode & 0o777).toBe(0o600);
  });

  it('is replaced if it was revoked, lost or damaged, or if Redis is empty', async () => {
    let key = await ensureDemoKey(world.store, dir);
    for (const spoil of [
      () => world.store.keys.revoke(key.slice(9, 21)),
      () => rm(join(dir, 'demo-key')),
      () => writeFile(join(dir, 'demo-key'), 'nonsense'),
      () => flushRedis(world.redis),
    ]) {
      await spoil();
      const next = await ensureDemoKey(world.store, dir);
      expect(next).not.toBe(key);
      expect(await works(next)).toBe(true);
      key = next;
    }
  });

  it('never reaches the limit of ten active keys', async () => {
    for (let i = 0; i < 15; i++) {
      await rm(join(dir, 'demo-key'), { force: true });
      expect(await works(await ensureDemoKey(world.store, dir))).toBe(true);
    }
  });

  it('gets new credits at the next start', async () => {
    const key = await ensureDemoKey(world.store, dir);
    const apiKey = await world.metering.resolveKey(`Bearer ${key}`);
    const verdict = apiKey && (await world.metering.admit(admissionOf(apiKey, { price: 9_999 })));
    expect(verdict).toMatchObject({ kind: 'admitted', balance: 1 });
    await ensureDemoKey(world.store, dir);
    expect(await world.store.findByEmail('demo@almanac.example')).toMatchObject({
      credits: { balance: 10_000 },
    });
    expect(await world.redis.zcard(redisKeys.accounts)).toBe(1);
  });
});
