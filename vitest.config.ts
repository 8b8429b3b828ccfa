/**
 * One test run for everything: units, Lua on a real Redis, HTTP over a real socket, a real browser. Two workers, because
 * each file starts engines of its own and two cores are what a small machine has. The JSON report is what CI counts.
 */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ['default', 'json'],
    outputFile: { json: 'var/test/results.json' },
  },
});
