/**
 * Two projects: `standard` is what `npm test` runs, `extended` what needs longer (`*.extended.test.ts`). Two workers,
 * because test files start servers of their own and a small machine has two cores. CI counts the JSON reports.
 */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

const EXTENDED = 'test/**/*.extended.test.ts';

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: { name: 'standard', include: ['test/**/*.test.ts'], exclude: [EXTENDED] },
      },
      { extends: true, test: { name: 'extended', include: [EXTENDED] } },
    ],
    globalSetup: ['test/shared-redis.ts'],
    pool: 'forks',
    maxWorkers: 2,
    // Limits only end what hangs. No test depends on its own duration.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000, interval: 20 } },
    // Tests start hundreds of programs. A shared compile cache halves what a start costs.
    env: {
      NODE_COMPILE_CACHE: join(import.meta.dirname, 'var/test/compile-cache'),
      TEST_REDIS_DIR: join(tmpdir(), `alm-test-${process.pid}`),
    },
    reporters: ['default', 'json'],
    outputFile: { json: 'var/test/results.json' },
  },
});
