/** The version of what Redis holds: marked by the first start, and every program refuses another one. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, expect, it } from 'vitest';
import { run as account } from '../../../admin/cli.ts';
import { run as backup } from '../../../build/backup/cli.ts';
import { run as build } from '../../../build/cli.ts';
import { STORE_VERSION } from '../../../data/runtime/store-version.ts';
import { redisFault } from '../../../gateway/api/metering/redis-health.ts';
import { stopAfterTests } from '../../after-tests.ts';
import { flushRedis, startRedis } from '../../redis.ts';
import { end, Program } from '../program.ts';

const ROOT = join(import.meta.dirname, '../../..');
const KEY = 'store:version';
const OTHER = STORE_VERSION + 1;
const SENTENCE = `Redis holds a store of version ${OTHER}; this program reads version ${STORE_VERSION}.`;
const REFUSAL = `REDIS_URL: ${SENTENCE} See "Upgrade" in docs/operating.md.\n`;

const program = await stopAfterTests(Program.prepare());
const server = await startRedis();
await stopAfterTests(Promise.resolve({ [Symbol.asyncDispose]: () => server.stop() }));
const redis = await server.connect();
// A restore refuses to run beside a client that has the name of a gateway.
await redis.call('CLIENT', 'SETNAME', 'test');
beforeEach(() => flushRedis(redis));

/** Runs a command line in this process. */
async function command(run: typeof account | typeof backup | typeof build, words: readonly string[]) {
  const stdout: string[] = [];
  const stderr: string[] = [];
  const status = await run(words, {
    env: { REDIS_URL: server.url, VAR_DIR: join(program.directory, 'var'), LOG_LEVEL: 'silent' },
    signal: new AbortController().signal,
    stdout: { write: (text) => stdout.push(text) },
    stderr: { write: (text) => stderr.push(text) },
  });
  return { status, stdout: stdout.join(''), stderr: stderr.join('') };
}

it.each<[path: string, settings?: Record<string, string>]>([
  ['gateway/main.ts', { WORKERS: '1' }],
  ['gateway/main.ts', { WORKERS: '2' }],
  ['admin/main.ts', { ADMIN_PORT: '0' }],
  ['build/worker.ts'],
])('%s refuses another version, and changes nothing: %j', async (path, settings = {}) => {
  await redis.set(KEY, OTHER);
  const words = program.command({ REDIS_URL: server.url, PORT: '0', ...settings }).slice(0, -1);
  await expect(promisify(execFile)('env', [...words, join(ROOT, path)])).rejects.toMatchObject({
    code: 1,
    stdout: '',
    stderr: REFUSAL,
  });
  expect([await redis.get(KEY), await redis.dbsize()]).toEqual([String(OTHER), 1]);
});

it('command lines refuse another version, and change nothing', async () => {
  await redis.set(KEY, OTHER);
  const refused = { status: 1, stdout: '', stderr: REFUSAL };
  expect(await command(account, ['create', '--email', 'a@example.org'])).toEqual(refused);
  expect(await command(build, ['archive'])).toEqual(refused);
  expect([await redis.get(KEY), await redis.dbsize()]).toEqual([String(OTHER), 1]);
});

it('marks an empty store at the first start, and for an account made before any', async () => {
  await command(account, ['create', '--email', 'a@example.org']);
  expect(await redis.get(KEY)).toBe(String(STORE_VERSION));
  await redis.del(KEY);
  const { child } = await program.start({ REDIS_URL: server.url });
  expect(await redis.get(KEY)).toBe(String(STORE_VERSION));
  expect(await redisFault(redis)).toBeNull();
  await end(child, 'SIGTERM');
});

it('is not ready once another version has taken over the store', async () => {
  const { child, url } = await program.start({ REDIS_URL: server.url });
  await redis.set(KEY, OTHER);
  const answer = await fetch(`${url}/readyz`);
  expect([answer.status, await answer.json()]).toMatchObject([503, { causes: [SENTENCE] }]);
  await end(child, 'SIGTERM');
});

it('lets a restore replace a store of another version, so that an upgrade can be taken back', async () => {
  await redis.set(KEY, OTHER);
  const directory = join(program.directory, 'backup');
  const { stderr } = await command(backup, ['restore', '--from', directory, '--force']);
  expect(stderr).toBe(`${directory} is no whole backup: it has no manifest.json\n`);
});
