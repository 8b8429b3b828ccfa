import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { ChildEventLoops, EventLoopWatchdog, TURN_MAX_MS, threadCpuMs } from './event-loop-watchdog.ts';

/** Keeps the event loop busy for so much CPU time. */
function block(cpu_ms: number): void {
  const until_ms = threadCpuMs() + cpu_ms;
  while (threadCpuMs() < until_ms);
}

/** Keeps the event loop waiting without CPU time, as a busy machine does. */
const suspend = (ms: number): unknown => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

describe('the watchdog of this process', () => {
  const watchdog = new EventLoopWatchdog();
  afterEach(() => watchdog[Symbol.dispose]());

  test('tells a blocked event loop from a busy one and from a busy machine', async () => {
    watchdog.reset();
    for (let turn = 0; turn < 100; turn++) {
      block(3);
      await nextTurn();
    }
    expect(watchdog.longest_ms).toBeLessThan(TURN_MAX_MS);
    suspend(3 * TURN_MAX_MS);
    await nextTurn();
    expect(watchdog.longest_ms).toBeLessThan(TURN_MAX_MS);
    block(1.5 * TURN_MAX_MS);
    expect(watchdog.longest_ms).toBeGreaterThan(TURN_MAX_MS);
    await nextTurn();
    expect(watchdog.longest_ms).toBeGreaterThan(TURN_MAX_MS);
    watchdog.reset();
    await nextTurn();
    expect(watchdog.longest_ms).toBeLessThan(TURN_MAX_MS);
  });
});

const BLOCKED_CHILD = `
  const block = () => {
    const before = process.threadCpuUsage();
    for (;;) {
      const { user, system } = process.threadCpuUsage(before);
      if (user + system > ${1.5 * TURN_MAX_MS * 1_000}) return;
    }
  };
  setTimeout(() => {
    block();
    setTimeout(() => console.log('blocked'), 20);
  }, 20);
  setInterval(() => {}, 60_000);`;

test('the watchdog of children names the process that was blocked, also one that was killed', async () => {
  await using loops = await ChildEventLoops.watch();
  expect(await loops.longest()).toBeNull();
  const settings = Object.entries(loops.environment).map(([name, value]) => `${name}=${value}`);
  const command = [...settings, process.execPath, '--input-type=module', '-e', BLOCKED_CHILD];
  const child = spawn('env', command, { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'exit');
  const longest = await loops.longest();
  expect(longest?.pid).toBe(child.pid);
  expect(longest?.cpu_ms).toBeGreaterThan(TURN_MAX_MS);
  expect(await loops.longest(Date.now() + 1)).toBeNull();
});
