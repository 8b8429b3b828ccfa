/**
 * The compose file without a container engine: its promises as YAML, and its commands with their environment, without
 * capabilities and on a read-only root where the machine permits it.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { directoryOfTest, useDirectory } from '../after-tests.ts';
import { freePorts } from '../free-ports.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string): Promise<string> => readFile(join(ROOT, path), 'utf8');

interface Service {
  image: string;
  environment: Record<string, string>;
  command?: string[];
  volumes: string[];
  tmpfs?: string[];
  healthcheck?: { test: string[] };
  ports?: string[];
}

const text = await read('compose.yaml');
const { services } = parse(text, { merge: true }) as { services: Record<string, Service> };
const service = (name: string): Service => {
  const found = services[name];
  if (!found) throw new Error(`compose.yaml has no service ${name}`);
  return found;
};

describe('compose.yaml', () => {
  it.each(Object.keys(services))(
    'runs %s on a read-only root, without capabilities or new privileges',
    (name) => {
      expect(services[name]).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
      expect(services[name]).not.toHaveProperty('privileged');
      expect(services[name]).not.toHaveProperty('cap_add');
    },
  );

  it('gives each service a place for temporary files, and only the gateway a port', () => {
    expect(service('gateway').tmpfs).toEqual(['/tmp']);
    expect(service('worker').volumes).toContain('/tmp');
    const published = Object.keys(services).filter((name) => services[name]?.ports);
    expect(published).toEqual(['gateway']);
  });

  it('has no password in it, and says how to create one that survives in an address', () => {
    expect(text.match(/:\$\{REDIS_PASSWORD:\?[^}]+\}@redis:6379/g)).toHaveLength(1);
    const command = /^# {3}(\(umask 077; .*\.env\))$/m.exec(text)?.[1] ?? 'exit 1';
    const made = execFileSync('sh', ['-c', command.replace('>> .env', '')], { encoding: 'utf8' });
    expect(made).toMatch(/^REDIS_PASSWORD=[0-9a-f]{64}\n$/);
  });

  it('keeps .env out of the repository and the image', async () => {
    for (const file of ['.gitignore', '.dockerignore'])
      expect((await read(file)).split('\n')).toContain('.env');
  });

  it('publishes the starter data once, and then queues a nightly run at each start', async () => {
    const [shell, flag, script = ''] = service('worker').command ?? [];
    expect([shell, flag]).toEqual(['sh', '-c']);
    const directory = await directoryOfTest();
    const run = (): string => {
      const traced = `node() { echo "node $*"; }; ${script.replaceAll('$$', '$').replace('exec ', '')}`;
      return execFileSync('env', [`VAR_DIR=${directory}`, 'sh', '-c', traced], { encoding: 'utf8' });
    };
    expect(run()).toBe('node build/main.ts starter\nnode build/worker.ts --nightly\n');
    await mkdir(join(directory, 'snapshots'));
    await writeFile(join(directory, 'snapshots/current'), '');
    expect(run()).toBe('node build/worker.ts --nightly\n');
  });

  it('runs the image in production', async () => {
    for (const name of ['gateway', 'worker']) expect(service(name).environment.NODE_ENV).toBe('production');
    expect(await read('Dockerfile')).toMatch(/^ENV NODE_ENV=production /m);
  });
});

/** `/` read-only but for one directory, no capabilities, no new privileges. */
const CONFINE =
  'mount --bind "$0" "$0" && mount -o remount,bind,ro / && cd "$PWD" && exec setpriv --no-new-privs --bounding-set=-all --inh-caps=-all "$@"';

const directory = await useDirectory();

describe('its commands', () => {
  const PASSWORD = 'f'.repeat(64);
  let confine: string[];
  let port: number;
  let health: number;
  const stops: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    [port = 0, health = 0] = await freePorts(2);
    const isolated = [...'unshare --mount --pid --fork --kill-child sh -c'.split(' '), CONFINE, directory];
    confine = spawnSync('env', [...isolated, 'true']).status === 0 ? isolated : [];
  });
  afterAll(async () => {
    for (const stop of stops.toReversed()) await stop();
  });

  /** As compose reads it, with the ports of this test. */
  const interpolated = (word: string): string =>
    word
      .replace(/\$\{REDIS_PASSWORD[^}]*\}/, PASSWORD)
      .replaceAll('$$', '$')
      .replace('@redis:', '@127.0.0.1:')
      .replaceAll('6379', String(port))
      .replaceAll('8081', String(health));

  const environmentOf = (name: string): string[] => [
    `VAR_DIR=${directory}`,
    ...Object.entries(service(name).environment).map(([key, value]) => `${key}=${interpolated(value)}`),
  ];

  function start(name: string, ...more: string[]): void {
    const words = [...confine, 'env', ...environmentOf(name), ...more, ...(service(name).command ?? [])];
    const cwd = name === 'redis' ? directory : ROOT;
    const child = spawn('env', words.map(interpolated), { cwd, stdio: 'ignore' });
    stops.push(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    });
  }

  /** Exit code of the service's own health check. */
  function check(name: string): number | null {
    const [kind, ...words] = (service(name).healthcheck?.test ?? []).map(interpolated);
    const command = kind === 'CMD-SHELL' ? ['sh', '-c', ...words] : words;
    return spawnSync('env', [...environmentOf(name), ...command], { stdio: 'ignore' }).status;
  }
  const healthy = (name: string) =>
    vi.waitFor(() => expect(check(name)).toBe(0), { timeout: 60_000, interval: 100 });

  it('Redis asks for the password, and its health check knows it', async () => {
    start('redis');
    await healthy('redis');
    const ping = (...options: string[]) =>
      spawnSync('redis-cli', ['-p', String(port), ...options, 'ping'], { encoding: 'utf8' }).stdout;
    expect(ping()).toContain('NOAUTH');
    expect(ping('--no-auth-warning', '-a', PASSWORD)).toBe('PONG\n');
    const processes = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
    expect(
      processes.split('\n').filter((line) => /^redis-server/.test(line) && line.includes(PASSWORD)),
    ).toEqual([]);
  });

  it('the worker passes a health check of its own, and fails it without Redis', async () => {
    await mkdir(join(directory, 'snapshots'));
    await writeFile(join(directory, 'snapshots', 'current'), 'published before\n');
    start('worker', `CURATED_DIR=${join(ROOT, 'data')}`, 'PROVIDER_MIRROR=http://127.0.0.1:9');
    await healthy('worker');
    await stops[0]?.();
    await vi.waitFor(() => expect(check('worker')).toBe(1), { timeout: 60_000, interval: 100 });
  });
});
