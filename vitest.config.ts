/**
 * One test run for everything: units, Lua on a real Redis, HTTP over a real socket, a real browser. Two workers, because
 * each file starts engines of its own and two cores are what a small machine has. The JSON report is what CI counts.
 */
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    // No test is about its own duration, and a machine may be four times as slow as another: this only ends what hangs.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // What comes in the end comes, however busy the machine is; the second that is the default may be one of a busy disk.
    expect: { poll: { timeout: 20_000, interval: 20 } },
    // Tests start hundreds of programs: what one has compiled the others take over, which halves what a start costs.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'var/test/compile-cache') },
    reporters: ['default', 'json'],
    outputFile: { json: 'var/test/results.json' },
  },
});
