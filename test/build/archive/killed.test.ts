/** "Exactly once, whatever is killed when": nights whose archive is killed, one after another, and then one that is not. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startRedis } from '../../redis.ts';
import { KilledArchiveRuns, moments } from './killed-runs.ts';

const KILLS = 15;

it('an archive that is killed at any moment is taken up by the next, and every entry is there once', async () => {
  await using stack = new AsyncDisposableStack();
  const server = await startRedis();
  stack.defer(() => server.stop());
  const dir = await mkdtemp(join(tmpdir(), 'alm-killed-'));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const nights = await KilledArchiveRuns.open(server, dir);
  for (let day = 0; day < 3; day += 1) await nights.day();
  const whole = await nights.night();
  expect(whole).toMatchObject({ killed: false, said: expect.arrayContaining(['done']) });
  let kills = 0;
  for (const kill of moments(KILLS, whole.said.length - 1, whole.duration_ms)) {
    await nights.day();
    if ((await nights.night(kill)).killed) kills += 1;
    expect(await nights.witness.wrongs(), JSON.stringify(kill)).toEqual([]);
  }
  expect(kills).toBeGreaterThan(KILLS / 2);
  const last = await nights.night();
  expect(last.said.filter((line) => line.startsWith('left'))).toEqual([]);
  expect(await nights.witness.wrongs()).toEqual([]);
  expect(await nights.owed()).toBe(0);
});
