/** The operator area in a process of its own, beside a gateway without it; and without Redis. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent } from 'undici';
import { afterAll, expect, it } from 'vitest';
import { end, Program } from '../gateway/program.ts';
import { startRedis } from '../redis.ts';
import { startAdmin, Visitor, wordsOf } from './harness.ts';

const MAIN = new URL('../../admin/main.ts', import.meta.url).pathname;
const OPERATOR = { email: 'ops@example.org', password: 'a password of ours' };

const agent = new Agent();
const running: ChildProcess[] = [];
const [redis, program] = await Promise.all([startRedis(), Program.prepare()]);
afterAll(async () => {
  for (const child of running) child.kill('SIGKILL');
  await agent.close();
  await program[Symbol.asyncDispose]();
  await redis.stop();
});

/** Starts `admin/main.ts` and returns its first output, standard error included. */
async function startArea(settings: Record<string, string>): Promise<{ child: ChildProcess; output: string }> {
  const words = program.command(settings).slice(0, -1);
  const child = spawn('env', [...words, MAIN], { stdio: ['ignore', 'pipe', 'pipe'] });
  running.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  await expect.poll(() => output).toContain('\n');
  return { child, output };
}

it('serves only the operator area, and the gateway serves everything else', async () => {
  const shared = {
    REDIS_URL: redis.url,
    ADMIN_PORT: '0',
    ADMIN_EMAIL: OPERATOR.email,
    ADMIN_PASSWORD: OPERATOR.password,
  };
  const [gateway, area] = await Promise.all([program.start({ ...shared, WORKERS: '1' }), startArea(shared)]);
  const url = /http:\S+(?=\/admin\/)/.exec(area.output)?.[0] ?? '';
  const operator = new Visitor(url, agent);
  expect((await operator.get('/admin/')).status).toBe(401);
  expect((await operator.signIn(OPERATOR.email, OPERATOR.password)).status).toBe(303);
  const dashboard = await operator.get('/admin/');
  expect(wordsOf(dashboard)).toContain('Snapshot');
  expect(dashboard.headers['x-request-id']).toBeTruthy();
  const style = /href="(\/assets\/site-[^"]+\.css)"/.exec(dashboard.html)?.[1] ?? '';
  expect((await operator.get(style)).status).toBe(200);
  for (const path of ['/admin/indicators', '/admin/runs', '/admin/users', '/admin/reconcile', '/readyz'])
    expect([path, (await operator.get(path)).status]).toEqual([path, 200]);
  for (const path of ['/v1/countries', '/account/', '/docs'])
    expect((await operator.get(path)).status).toBe(404);

  const outside = new Visitor(gateway.url, agent);
  expect((await outside.get('/v1/countries')).status).toBe(200);
  expect((await outside.get('/admin/')).status).toBe(404);
  expect(gateway.startupBanner).not.toContain('Operator area');
  await operator.submit('/admin/', '/admin/providers/gapminder/rerun', {});
  expect(wordsOf(await operator.get('/admin/audit'))).toContain('provider.rerun');
  expect(await Promise.all([end(area.child, 'SIGTERM'), end(gateway.child, 'SIGTERM')])).toEqual([0, 0]);
});

it('exits with a message when ADMIN_PORT is missing', async () => {
  const { child, output } = await startArea({ REDIS_URL: redis.url });
  expect(output).toContain('ADMIN_PORT');
  if (child.exitCode === null) await once(child, 'exit');
  expect(child.exitCode).toBe(1);
});

it('returns 503 with Retry-After while Redis is away', async () => {
  await using service = await startAdmin({}, { dedicated: true });
  const operator = await service.signedIn();
  await service.redis.kill();
  const page = await operator.get('/admin/users');
  expect([page.status, page.headers['retry-after']]).toEqual([503, '5']);
  await service.redis.restart();
});
