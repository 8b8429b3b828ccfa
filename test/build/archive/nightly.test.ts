/** The archive as the last step of the nightly run, and as a command of its own. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runArchive } from '../../../build/archive/run-archive.ts';
import { run } from '../../../build/cli.ts';
import { type NightlyDependencies, nightly, nightlyExitCode } from '../../../build/nightly.ts';
import { createWorld, UNLIMITED } from '../../gateway/api/metering/harness.ts';
import { silentLog, useRedis } from '../../redis.ts';
import { World } from '../world.ts';
import { archivedLedgers } from './archive-contents.ts';

const figures = { one: { cells: [['FRA', 2020, 1] as [string, number, number]] } };

describe('the archive step of the nightly run', async () => {
  const server = await useRedis();
  const world = await World.use({ atlas: { cadence: 'daily' } });
  await world.publish('atlas', figures);

  const night = async (
    archive?: NightlyDependencies['archive'],
    changes: Partial<NightlyDependencies> = {},
  ) => nightly({ ...(await world.dependencies()), archive, ...changes });

  it('is reported as skipped without Redis, and the run succeeds', async () => {
    const summary = await night();
    expect(summary).toMatchObject({ archive: null, archive_error: 'Redis is not configured' });
    expect(nightlyExitCode(summary)).toBe(0);
  });

  it('keeps what was published when it fails, and sets the exit code', async () => {
    const summary = await night(() => Promise.reject(new Error('the disk is full')));
    expect(summary).toMatchObject({ archive: null, archive_error: 'the disk is full' });
    expect(summary.build?.snapshot).toBe(await world.snapshots.currentId());
    expect(nightlyExitCode(summary)).toBe(3);
  });

  it('runs although nothing could be published', async () => {
    const redis = await server.connect();
    const past = createWorld(redis, UNLIMITED);
    const customer = await past.customer();
    await customer.call();
    world.clock = past.clock.ms + 5 * 86_400_000;
    const ARCHIVE_DIR = join(world.directory, 'archive');
    const settings = { ARCHIVE_DIR, LEDGER_LIVE_DAYS: 3, AUDIT_LIVE_DAYS: 90 };
    const summary = await night(
      () => runArchive({ redis, settings, now: () => world.clock, log: silentLog }),
      { overrides: () => Promise.reject(new Error("operators' changes cannot be read")) },
    );
    expect(summary.build).toBeNull();
    expect(summary.archive?.ledger.entries).toBe(2);
    expect((await archivedLedgers(ARCHIVE_DIR)).get(customer.account_id)).toHaveLength(2);
    expect(nightlyExitCode(summary)).toBe(1);
  });

  it('is a command, which fails with a message without Redis', async () => {
    const { VAR_DIR, CURATED_DIR } = world.settings;
    const call = async (env: Record<string, string>, ...args: string[]) => {
      const output = { stdout: '', stderr: '' };
      const writer = (name: keyof typeof output) => ({ write: (text: string) => (output[name] += text) });
      const { signal } = new AbortController();
      const io = { stdout: writer('stdout'), stderr: writer('stderr'), signal };
      const code = await run(args, { ...io, env: { VAR_DIR, CURATED_DIR, LOG_LEVEL: 'silent', ...env } });
      return { code, ...output };
    };
    const without = await call({}, 'archive');
    expect(without).toMatchObject({ code: 1, stderr: expect.stringMatching(/^Redis is not configured/) });
    const redis = await server.connect();
    await redis.del('archive:id');
    const customer = await createWorld(redis, UNLIMITED).customer();
    const ARCHIVE_DIR = join(world.directory, 'other');
    const { stdout } = await call({ REDIS_URL: server.url, ARCHIVE_DIR }, 'archive', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ ledger: { left: [] }, audit: { entries: 0 } });
    expect(await redis.exists(`{a:${customer.account_id}}:account`)).toBe(1);
  });
});
