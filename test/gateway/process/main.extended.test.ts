/** The gateway as a program: start-up banner, shutdown, failed starts. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, test } from 'vitest';
import { stopAfterTests } from '../../after-tests.ts';
import { end, isRefused, Program, type Started } from '../program.ts';

const CONTROL_C = '\u0003';
const run = promisify(execFile);

const program = await stopAfterTests(Program.prepare());
afterEach(() => program.killAll());

const redisPids = async (): Promise<string> =>
  (
    await run('pgrep', ['-f', `redis-server.*${program.directory}`]).catch(() => ({ stdout: '' }))
  ).stdout.trim();

test('prints its URL, which documents name, snapshot, demo key and three curl lines that work when pasted; SIGINT ends it and its Redis', async () => {
  const { child, startupBanner, url } = await program.start();
  expect(url).toMatch(/^http:\/\/localhost:\d+$/);
  const described = await fetch(`${url}/v1/catalog.jsonld`);
  expect(await described.text()).toContain(`"@id":"${url}/v1/catalog.jsonld"`);
  expect(startupBanner).toContain('2,807 observations, 13 indicators, 11 countries');
  expect(startupBanner).toMatch(/Demo key +alm_live_[0-9a-z]{12}_[0-9A-Za-z]{40}\n/);
  const lines = startupBanner.split('\n').filter((line) => line.trim().startsWith('curl'));
  expect(lines).toHaveLength(3);
  for (const line of lines) {
    const { stdout } = await run('sh', ['-c', `${line} -sS -o /dev/null -w '%{http_code} %{size_download}'`]);
    expect(stdout).toMatch(/^200 [1-9]/);
  }
  expect(await redisPids()).not.toBe('');
  expect(await end(child, 'SIGINT')).toBe(0);
  expect(await redisPids()).toBe('');
});

describe('with the worker beside it', () => {
  /** The messages before the banner, and the banner. */
  const parts = (output: string): [messages: string[], banner: string[]] => {
    const lines = stripVTControlCharacters(output).replaceAll('\r', '').trimEnd().split('\n');
    const begin = lines.findIndex((line) => line.startsWith('Almanac listens on'));
    return [lines.slice(0, begin).filter((line) => line !== ''), lines.slice(begin)];
  };

  test('a terminal shows short lines for people, then the banner', async () => {
    const { child, startupBanner, url } = await program.startWithWorker(true, { WORKERS: '2' });
    const [messages, banner] = parts(startupBanner);
    expect(messages).toEqual([expect.stringMatching(/^\d{2}:\d{2}:\d{2} worker ready {2}.{0,60}$/)]);
    expect(banner.join('\n')).toMatch(
      /Documentation .*Operator area .*password .*Demo key +alm_live_.*First calls:/s,
    );
    expect(banner.at(-1)).toMatch(/curl .*format=csv'$/);

    const request = once(child.stdout ?? child, 'data');
    await fetch(`${url}/v1/topics`);
    expect(stripVTControlCharacters(String(await request))).toMatch(
      /^\d{2}:\d{2}:\d{2} GET \/v1\/topics 200 \d+\.\d ms\r\n$/,
    );
    const exit = once(child, 'exit');
    child.stdin?.write(CONTROL_C);
    expect((await exit)[0]).toBe(0);
  });

  test('anywhere else it logs JSON, then the banner', async () => {
    const { child, startupBanner } = await program.startWithWorker(false, { WORKERS: '2' });
    const [messages, banner] = parts(startupBanner);
    expect(messages.map((line) => JSON.parse(line).msg)).toEqual(['worker ready']);
    expect(banner.at(-1)).toMatch(/curl .*format=csv'$/);
    expect(await end(child, 'SIGINT')).toBe(0);
  });

  test('NODE_ENV=production creates and prints no demo account, key or password', async () => {
    const var_dir = join(program.directory, 'production');
    const { child, startupBanner } = await program.startWithWorker(false, {
      NODE_ENV: 'production',
      VAR_DIR: var_dir,
    });
    expect(startupBanner).not.toMatch(/alm_live_|password|operator@/i);
    expect(startupBanner).toContain("-H 'Authorization: Bearer <your key>'");
    const socket = (await readFile(join(var_dir, 'redis', 'socket'), 'utf8')).trim();
    const redis = new Redis({ path: socket });
    const keys = await redis.keys('*');
    redis.disconnect();
    expect(keys).not.toContainEqual(expect.stringMatching(/^(accounts|operators|email:|key:|operator:)/));
    expect(await end(child, 'SIGINT')).toBe(0);
    expect(await readdir(var_dir)).not.toContainEqual(expect.stringMatching(/demo|operator/));
  });
});

test('NODE_ENV=production refuses DEMO_KEY', async () => {
  const outcome = run('env', program.command({ NODE_ENV: 'production', DEMO_KEY: 'true' }));
  await expect(outcome).rejects.toMatchObject({
    code: 1,
    stderr: 'bad settings\n  DEMO_KEY: there is no demo account with NODE_ENV=production\n',
  });
});

test('keeps the demo key and its balance over a restart', async () => {
  const key = (startupBanner: string): string => /alm_live_\w+/.exec(startupBanner)?.[0] ?? 'none';
  const balance = async ({ url, startupBanner }: Started): Promise<unknown> => {
    const headers = { authorization: `Bearer ${key(startupBanner)}` };
    await fetch(`${url}/v1/countries/KEN`, { headers });
    const answer = await fetch(`${url}/v1/ping`, { headers });
    return ((await answer.json()) as { data: { balance: number } }).data.balance;
  };
  const first = await program.start();
  const before = Number(await balance(first));
  await end(first.child, 'SIGTERM');
  const second = await program.start();
  expect(key(second.startupBanner)).toBe(key(first.startupBanner));
  expect(await balance(second)).toBe(before - 1);
  expect(await end(second.child, 'SIGTERM')).toBe(0);
});

test('SIGTERM finishes requests in flight: no request of an open connection fails', async () => {
  const { child, url } = await program.start();
  const calls = Array.from({ length: 200 }, () =>
    fetch(`${url}/v1/indicators`).then((answer) => answer.text()),
  );
  await Promise.race(calls);
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  const outcomes = await Promise.allSettled(calls);
  const broken = outcomes.filter(({ status, ...rest }) => status === 'rejected' && !isRefused(rest));
  expect(broken).toEqual([]);
  expect((await exit)[0]).toBe(0);
});

test('a bad setting ends the start and prints its name and the expected value', async () => {
  const outcome = run('env', program.command({ PORT: 'high', TRUST_PROXY: 'all' }));
  await expect(outcome).rejects.toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/bad settings\n {2}PORT: .*\n {2}TRUST_PROXY: addresses or CIDR ranges/),
  });
});

test('a port in use ends the start and leaves no Redis behind', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const outcome = run('env', program.command({ PORT: String(port) }));
  await expect(outcome).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('EADDRINUSE') });
  server.close();
  expect(await redisPids()).toBe('');
});
