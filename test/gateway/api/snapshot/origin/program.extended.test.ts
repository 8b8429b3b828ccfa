/** Gateways as programs that follow an origin: workers, a killed origin, a directory that is no mirror, a full disk. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { request } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parseKey } from '../../../../../data/proofs/verify-receipt.ts';
import { mountSmallDisk } from '../../../../build/small-disk.ts';
import { EditionDirectory } from '../../../../edition-directory.ts';
import { freePort } from '../../../../free-ports.ts';
import { HttpOrigin } from '../../../../http-origin.ts';
import { movedBy } from '../../../fixture-data.ts';
import { readLog } from '../../../fixture-log.ts';
import { FIXTURE_ID, publishFixture, setCurrentSnapshot, writeFixture } from '../../../fixture-snapshot.ts';
import { end, Program } from '../../../program.ts';
import { followOrigin } from './followed.ts';

const SECOND = '20261121T020000Z-00000002';

describe('a gateway with workers', () => {
  let published: EditionDirectory;
  let origin: HttpOrigin;
  let program: Program;
  let mirror: string;
  let child: ChildProcess | undefined;

  beforeAll(async () => {
    published = await EditionDirectory.create();
    await publishFixture(published.directory);
    await published.sign(await readLog(published.directory));
    origin = await HttpOrigin.start(published.directory);
    program = await Program.prepare();
    mirror = await mkdtemp(join(tmpdir(), 'alm-mirror-'));
  });
  afterEach(() => program.killAll());
  afterAll(async () => {
    child?.kill('SIGKILL');
    await program[Symbol.asyncDispose]();
    await origin.stop();
    await published.remove();
    await rm(mirror, { recursive: true });
  });

  const settings = (port: number) => ({
    PORT: String(port),
    WORKERS: '2',
    SNAPSHOT_DIR: mirror,
    SNAPSHOT_POLL_MS: '20',
    SNAPSHOT_ORIGIN: origin.url,
    SNAPSHOT_ORIGIN_KEY: published.key.publicKey,
    SNAPSHOT_ORIGIN_POLL_S: '1',
    // The test asks without a key until the edition is served.
    ANONYMOUS_PER_MINUTE: '1000000',
    ANONYMOUS_PER_DAY: '1000000000',
  });
  async function servedAt(port: number): Promise<string> {
    const answer = await request(`http://127.0.0.1:${port}/v1/topics`).catch(() => null);
    await answer?.body.dump();
    return String(answer?.headers['x-snapshot'] ?? answer?.statusCode);
  }

  it('starts empty, serves what it mirrored, outlives its origin and goes on with it', async () => {
    const port = await freePort();
    child = spawn('env', program.command(settings(port)), { stdio: ['ignore', 'ignore', 'inherit'] });
    await expect.poll(() => servedAt(port)).toBe(FIXTURE_ID);
    const originPort = origin.port;
    await origin.stop();
    await writeFixture(published.directory, {
      id: SECOND,
      generatedAt: '2026-11-21T02:00:00+00:00',
      indicators: movedBy(1000),
    });
    await setCurrentSnapshot(published.directory, SECOND);
    await published.sign(await readLog(published.directory));
    for (let call = 0; call < 20; call += 1) expect(await servedAt(port)).toBe(FIXTURE_ID);
    origin = await HttpOrigin.start(published.directory, originPort);
    await expect.poll(() => servedAt(port)).toBe(SECOND);
    expect(await end(child, 'SIGTERM')).toBe(0);
  });

  it('refuses a directory in which snapshots were built', async () => {
    const command = program.command({ ...settings(await freePort()), SNAPSHOT_DIR: program.snapshots });
    const refused = spawn('env', command, { stdio: ['ignore', 'ignore', 'pipe'] });
    const [said, [code]] = await Promise.all([text(refused.stderr), once(refused, 'exit')]);
    expect(code).toBe(1);
    expect(said).toContain('SNAPSHOT_DIR: a directory of its own is needed with SNAPSHOT_ORIGIN');
  });
});

const SIZE_BYTES = 4_000_000;
const probe = mountSmallDisk(join(tmpdir(), `almanac-mirror-probe-${process.pid}`), SIZE_BYTES);
probe?.unmount();

describe.skipIf(probe === null)(
  'a mirror whose disk fills up (skipped where tmpfs cannot be mounted)',
  () => {
    it('serves what it has at every point, leaves no draft, and goes on when there is space', async () => {
      const published = await EditionDirectory.create();
      const files = (night: number) =>
        Object.fromEntries(
          Array.from({ length: 12 }, (_, at) => [
            `observations/atlas.i${at}.parquet`,
            `${night} ${at} `.repeat(9_000),
          ]),
        );
      const first = await published.publish(files(1));
      const origin = await HttpOrigin.start(published.directory);
      const mirror = join(tmpdir(), `alm-full-mirror-${process.pid}`);
      const disk = mountSmallDisk(mirror, SIZE_BYTES);
      if (!disk) throw new Error('cannot be mounted any more');
      const keys = [parseKey(published.key.publicKey)];
      const { follower, stop } = followOrigin({ url: origin.url, directory: mirror, keys });
      const current = () => readFile(join(mirror, 'current'), 'utf8');
      await follower.check();
      expect(await current()).toBe(first);
      const log = await readFile(join(mirror, 'log.json'), 'utf8');
      const second = await published.publish(files(2));
      const faults: (string | null)[] = [];
      for (let free_bytes = 0; (await current()) === first; free_bytes += 32_768) {
        disk.fill(free_bytes);
        await follower.check();
        disk.empty();
        faults.push(follower.fault);
        expect((await readdir(mirror)).filter((name) => /^\.fetching|\.tmp$/.test(name))).toEqual([]);
        if ((await current()) === first) expect(await readFile(join(mirror, 'log.json'), 'utf8')).toBe(log);
      }
      expect(faults.at(-1)).toBeNull();
      expect(faults.filter((fault) => fault?.startsWith('ENOSPC')).length).toBeGreaterThan(2);
      expect(await current()).toBe(second);
      await stop();
      await origin.stop();
      disk.unmount();
      await published.remove();
    });
  },
);
