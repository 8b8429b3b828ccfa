import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type PrivateRedis, startPrivateRedis } from '../../../data/runtime/private-redis.ts';
import { connectRedis, type RedisClient, whenReady } from '../../../data/runtime/redis.ts';
import { useDirectory } from '../../after-tests.ts';
import { expireLock } from '../../expire-lock.ts';
import { inOwnProcessTable } from '../../process-table.ts';
import { silentLog } from '../../redis.ts';
import { pidFrom, sendSignal, signalGroup } from '../../signals.ts';

const module = (name: string) => JSON.stringify(join(import.meta.dirname, '../../../data/runtime', name));

const root = await useDirectory();
let base: string;
let dir: string;
let held: PrivateRedis[];
let clients: RedisClient[];

beforeEach(async () => {
  base = await mkdtemp(join(root, 'r-'));
  dir = join(base, 'redis');
  held = [];
  clients = [];
  return async () => {
    for (const client of clients) client.disconnect();
    for (const redis of held) await redis.stop();
  };
});

async function hold(at = dir): Promise<PrivateRedis> {
  const redis = await startPrivateRedis(at);
  held.push(redis);
  return redis;
}

async function connect({ url }: PrivateRedis): Promise<RedisClient> {
  const client = connectRedis({ REDIS_URL: url, REDIS_CLUSTER: false }, silentLog, 'tool');
  clients.push(client);
  expect(await whenReady(client, 60_000)).toBe(true);
  return client;
}

const serverOf = async (client: RedisClient): Promise<number> =>
  Number(/process_id:(\d+)/.exec(await client.info('server'))?.[1]);
const pid = async (): Promise<number> => pidFrom(await readFile(join(dir, 'redis.pid'), 'utf8'));

describe('the private Redis', () => {
  it('listens on a unix socket only and never evicts keys', async () => {
    const client = await connect(await hold());
    const setting = async (name: string) => (await client.config('GET', name))[1];
    expect(await setting('port')).toBe('0');
    expect(await setting('maxmemory-policy')).toBe('noeviction');
    expect(await setting('appendonly')).toBe('yes');
    expect(await setting('appendfsync')).toBe('always');
  });

  it('keeps its data across a restart', async () => {
    const first = await hold();
    await (await connect(first)).set('kept', '1');
    await first.stop();
    expect(existsSync(join(dir, 'redis.sock'))).toBe(false);
    expect(await (await connect(await hold())).get('kept')).toBe('1');
  });

  it('runs until the last holder releases it', async () => {
    const [first, second] = await Promise.all([hold(), hold()]);
    const process_id = await pid();
    await first.stop();
    await first.stop();
    expect(await (await connect(second)).ping()).toBe('PONG');
    expect(await pid()).toBe(process_id);
    await second.stop();
    await expect.poll(() => isRunning(process_id)).toBe(false);
  });

  it('is restarted on the same files when it dies while it is in use', async () => {
    const client = await connect(await hold());
    await client.set('kept', '1');
    const before = await pid();
    sendSignal(before, 'SIGKILL');
    await expect.poll(() => client.get('kept').catch(() => null)).toBe('1');
    expect(await pid()).not.toBe(before);
  });

  it('stops when many holders release it at the same moment', async () => {
    for (let round = 0; round < 5; round += 1) {
      const holders = await Promise.all(Array.from({ length: 8 }, () => hold()));
      const process_id = await pid();
      await Promise.all(holders.map((redis) => redis.stop()));
      await expect.poll(() => isRunning(process_id), { message: `round ${round}` }).toBe(false);
    }
  });

  it('starts despite a stale socket, a stale lock and a reused process id after a crash', async () => {
    const left = program(`
      const redis = await startPrivateRedis(${JSON.stringify(dir)});
      const server = Number(await readFile(${JSON.stringify(join(dir, 'redis.pid'))}, 'utf8'));
      await acquireLock(${JSON.stringify(join(dir, '.lock'))}, 'it');
      // In one turn, so that the program cannot begin to start the server again.
      process.kill(server, 'SIGKILL');
      process.kill(process.pid, 'SIGKILL');
    `);
    await once(left, 'exit');
    expect(await readdir(dir)).toEqual(expect.arrayContaining(['.lock', 'redis.pid', 'redis.sock']));
    await writeFile(join(dir, 'redis.pid'), `${process.pid}\n`);
    await expireLock(join(dir, '.lock'));
    expect(await (await connect(await hold())).ping()).toBe('PONG');
  });

  it('waits for a server that is still loading instead of starting a second one', async () => {
    const client = await connect(await hold());
    // It answers that it is loading after each 1,024 commands, which take it half a second.
    for (let n = 0; n < 3_000; n += 1) await client.set(`key:${n}`, n);
    for (const redis of held) await redis.stop();
    const loading = spawn('redis-server', [
      ...['--port', '0', '--unixsocket', join(dir, 'redis.sock'), '--dir', dir, '--appendonly', 'yes'],
      ...['--key-load-delay', '500'],
    ]);
    await expect.poll(() => existsSync(join(dir, 'redis.sock'))).toBe(true);
    expect(await serverOf(await connect(await hold()))).toBe(loading.pid);
  });

  it('uses a shorter socket path for a deep directory', async () => {
    const deep = join(base, ...Array.from({ length: 12 }, (_, i) => `folder-number-${i}`), 'redis');
    const redis = await hold(deep);
    const socket = (await readFile(join(deep, 'socket'), 'utf8')).trim();
    expect(redis.url).toBe(`unix://${socket}`);
    expect(Buffer.byteLength(socket)).toBeLessThanOrEqual(100);
    expect(await (await connect(redis)).ping()).toBe('PONG');
  });

  it('works in a directory whose name has URL characters', async () => {
    expect(await (await connect(await hold(join(base, 'a b?c#d%41')))).ping()).toBe('PONG');
  });
});

/** Runs a program with the module at hand, in a process group of its own. */
function program(text: string, ...changes: `${string}=${string}`[]) {
  const source = `
    import { readFile } from 'node:fs/promises';
    import { acquireLock } from ${module('file-lock.ts')};
    import { startPrivateRedis } from ${module('private-redis.ts')};
    ${text}`;
  return spawn('env', [...changes, process.execPath, '--input-type=module', '-e', source], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function isRunning(process_id: number): boolean {
  try {
    process.kill(process_id, 0);
    return true;
  } catch {
    return false;
  }
}

const lineOf = async ({ stdout }: ReturnType<typeof inOwnProcessTable>): Promise<string> =>
  String((await once(stdout, 'data'))[0]).trim();

async function outputOf(child: ReturnType<typeof program>): Promise<{ code: number | null; out: string }> {
  let out = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (part) => (out += String(part)));
  const [code] = await once(child, 'close');
  return { code, out };
}

it('the private Redis does not receive Ctrl-C of its holder', async () => {
  const child = program(`
    const redis = await startPrivateRedis(${JSON.stringify(dir)});
    process.on('SIGINT', async () => { await redis.stop(); process.exit(0); });
    console.log('up');
  `);
  await once(child.stdout, 'data');
  const other = await hold();
  signalGroup(child.pid, 'SIGINT');
  await once(child, 'exit');
  expect(await (await connect(other)).ping()).toBe('PONG');
});

it('is shut down by a holder in another container, where its process id belongs to another process', async () => {
  const holder = (before: string, after: string) =>
    inOwnProcessTable(`
    import { spawn, spawnSync } from 'node:child_process';
    import { once } from 'node:events';
    import { readFile } from 'node:fs/promises';
    import { startPrivateRedis } from ${module('private-redis.ts')};
    ${before}
    const redis = await startPrivateRedis(${JSON.stringify(dir)});
    const pid = Number(await readFile(${JSON.stringify(join(dir, 'redis.pid'))}, 'utf8'));
    ${after}
    console.log('holds');
    await once(process.stdin, 'data');
    console.log(await redis.stop().then(() => 'released', ({ message }) => message));
    process.stdin.resume();`);
  // Ids of the second container's own threads are below that of the server.
  const first = holder("for (let n = 0; n < 50; n += 1) spawnSync('true');", '');
  expect(await lineOf(first)).toBe('holds');
  const second = holder('', "while (spawn('sleep', ['600'], { stdio: 'ignore' }).pid < pid);");
  expect(await lineOf(second)).toBe('holds');
  for (const container of [first, second]) {
    container.stdin.write('release');
    expect(await lineOf(container)).toBe('released');
  }
  expect(existsSync(join(dir, 'redis.pid'))).toBe(false);
  expect(existsSync(join(dir, 'redis.sock'))).toBe(false);
  for (const container of [first, second]) container.kill('SIGKILL');
});

it('programs that start at the same time share one private Redis', async () => {
  const work = `
    const redis = await startPrivateRedis(${JSON.stringify(dir)});
    console.log('up');
    await redis.stop();
  `;
  const outcomes = await Promise.all([1, 2, 3].map(() => outputOf(program(work))));
  expect(outcomes).toEqual([1, 2, 3].map(() => ({ code: 0, out: 'up\n' })));
  expect(existsSync(join(dir, 'redis.sock'))).toBe(false);
});

it('reports in one line what to do without a server on PATH', async () => {
  const work = `await startPrivateRedis(${JSON.stringify(dir)}).catch((error) => console.log(error.message));`;
  const { out } = await outputOf(program(work, `PATH=${base}`));
  expect(out).toMatch(
    /^neither redis-server nor valkey-server is on PATH: install one .*, or set REDIS_URL\n$/,
  );
});
