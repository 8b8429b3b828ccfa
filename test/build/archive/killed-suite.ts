/** Archives exactly once although runs are killed at any moment. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startRedis } from '../../redis.ts';
import { KilledArchiveRuns, moments } from './killed-runs.ts';

export function testKilledArchive(count: number): void {
  it(`archives every entry exactly once when ${count} runs are killed at any moment`, async () => {
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
    for (const kill of moments(count, whole.said.length - 1, whole.duration_ms)) {
      await nights.day();
      if ((await nights.night(kill)).killed) kills += 1;
      expect(await nights.oracle.problems(), JSON.stringify(kill)).toEqual([]);
    }
    expect(kills).toBeGreaterThan(count / 2);
    const last = await nights.night();
    expect(last.said.filter((line) => line.startsWith('left'))).toEqual([]);
    expect(await nights.oracle.problems()).toEqual([]);
    expect(await nights.owed()).toBe(0);
  });
}
