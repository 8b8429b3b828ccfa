/**
 * Three projects: `standard` is what `npm test` runs; what needs longer (`*.extended.test.ts`) is in `sample`, which
 * `.ci/run` runs too, or in `extended`. CI counts the JSON reports.
 */
import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { EXTENDED_SAMPLE } from './test/extended-sample.ts';

const EXTENDED = 'test/**/*.extended.test.ts';
/** Builds of the mirror, and programs of others that read them. */
const LONG = { testTimeout: 1_800_000, hookTimeout: 1_800_000 };
const MEMORY_FILES = '/dev/shm';
const SCRATCH_BYTES = 4 * 2 ** 30;

function hasRoomInMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY_FILES);
    return bavail * bsize >= SCRATCH_BYTES;
  } catch {
    return false;
  }
}

/** Removed after the run. In memory where possible: tests write thousands of small files and flush each one. */
const scratch = join(hasRoomInMemory() ? MEMORY_FILES : tmpdir(), `alm-test-${process.pid}`);

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        // Files share modules, which saves a third of the processor time: importing the service takes as long as most
        // tests do. `vi.mock` and lasting changes to modules would reach other files, and hooks at the top
        // of a module that is not a test file would run for the first file only. A failed file runs again alone.
        test: {
          name: 'standard',
          include: ['test/**/*.test.ts'],
          exclude: [EXTENDED],
          isolate: false,
          restoreMocks: true,
        },
      },
      { extends: true, test: { ...LONG, name: 'sample', include: [...EXTENDED_SAMPLE] } },
      {
        extends: true,
        test: { ...LONG, name: 'extended', include: [EXTENDED], exclude: [...EXTENDED_SAMPLE] },
      },
    ],
    globalSetup: ['test/scratch.ts', 'test/shared-redis.ts'],
    setupFiles: ['test/seeded-properties.ts'],
    pool: 'forks',
    // Two workers leave 10 to 35 % of two cores idle, waiting for servers, disks and browsers. Extended tests hardly gain
    // from a third, and one was flaky with it: they have two.
    maxWorkers: 3,
    // Limits, here and in LONG, only end what hangs. No test depends on its own duration.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000, interval: 20 } },
    // Tests start hundreds of programs. A shared compile cache halves what a start costs.
    env: {
      NODE_COMPILE_CACHE: join(import.meta.dirname, 'var/test/compile-cache'),
      TMPDIR: scratch,
      TEST_REDIS_DIR: join(scratch, 'redis'),
    },
    reporters: ['default', 'json'],
    outputFile: { json: 'var/test/results.json' },
  },
});
