/**
 * Every change is audited, even when the process dies before it writes the entry: a later reader then finds the
 * requested change, its actor, and that it was not confirmed.
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Cluster } from 'ioredis';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { COMMANDS } from '../../admin/cli.ts';
import { OPERATOR_COMMANDS } from '../../admin/operator-commands.ts';
import { RunReporter } from '../../build/jobs/run-reporter.ts';
import { emptyRecord } from '../../build/lake/provider-lake.ts';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { parseOverrides } from '../../data/schema/operator-changes.ts';
import { formatTimestamp } from '../../data/schema/records.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { AuditLog, PENDING_TIMEOUT_MS } from '../../gateway/commerce/history/audit-log.ts';
import { NOON, tokenOf, useAdmin } from './harness.ts';

const AUDIT_SHA = hash('sha1', readFileSync('gateway/commerce/history/lua/audit.lua', 'utf8'));

/** Cuts a connection at the command that would write an audit entry, as if the process died there. */
function dieBeforeAuditEntry(client: RedisClient): void {
  if (client instanceof Cluster) throw new Error('one server was expected');
  const send = client.sendCommand.bind(client);
  let isGone = false;
  vi.spyOn(client, 'sendCommand').mockImplementation((command, stream) => {
    isGone ||= command.args.includes(AUDIT_SHA);
    if (!isGone) return send(command, stream);
    command.reject(new Error('Connection is closed.'));
    return command.promise;
  });
}

const service = await useAdmin();
const operator = await service.signedIn();
const { accounts, requests, client } = service;
const { account_id } = await accounts.create({ email: 'ann@example.org', credits: 10, by: 'test' });
const { order_id } = await accounts.orders.create(account_id, 'starter');
const { request_id } = await requests.open(account_id, 'erasure');
const [, first = ''] = (await operator.get('/admin/indicators?format=csv')).html.split('\r\n');
const indicator = first.split(',')[0] ?? '';
const [snapshot = ''] = /\d{8}T\d{6}Z-[0-9a-f]{8}/.exec((await operator.get('/admin/snapshots')).html) ?? [];
const reporter = new RunReporter(client, () => service.clock.ms);
const finished_at = formatTimestamp(NOON);
reporter.onRun({ ...emptyRecord('held', 'undp', NOON), status: 'suspicious', finished_at });
reporter.onRun(emptyRecord('live', 'imf', NOON));
await reporter.flush();
await reporter.close();
afterEach(() => vi.restoreAllMocks());

/** The log's entries once unconfirmed changes are settled. */
async function laterEntries() {
  service.clock.ms += PENDING_TIMEOUT_MS;
  await service.operators.put('operator@example.org', 'operator', 'correct horse battery staple');
  await operator.signIn('operator@example.org', 'correct horse battery staple');
  expect((await operator.get('/admin/audit')).status).toBe(200);
  return service.audit.list();
}

const CUT = 'not confirmed: the process ended during the change';
const balance = async () => (await service.accounts.get(account_id)).credits.balance;
const state = async () => (await service.accounts.get(account_id)).state;
const override = async () => parseOverrides(await service.client.hgetall('overrides')).get(indicator) ?? null;
const jobs = async () => (await service.client.keys(`${redisKeys.jobs}:*`)).length;

const BECAUSE = { reason: 'because' };

/** Forms of every change, and state that shows whether the change was made. */
const CHANGES: [
  action: string,
  path: string,
  fields: Record<string, string>,
  facts: () => Promise<unknown>,
][] = [
  // First, because the run counts as crashed later.
  [
    'run.cancel',
    '/admin/runs/imf/live/cancel',
    {},
    () => service.client.get(redisKeys.runCancel('imf', 'live')),
  ],
  [
    'credits.adjust',
    `/admin/users/${account_id}/credits`,
    { delta: '5', reason: 'sorry', idem: 'x' },
    balance,
  ],
  ['account.suspend', `/admin/users/${account_id}/suspend`, {}, state],
  ['account.restore', `/admin/users/${account_id}/restore`, {}, state],
  ['order.paid', `/admin/orders/${order_id}/move`, { to: 'paid', ...BECAUSE }, balance],
  [
    'request.close',
    `/admin/gdpr/${request_id}/close`,
    { status: 'failed', note: 'n' },
    async () => (await service.requests.get(request_id)).status,
  ],
  [
    'indicator.edit',
    `/admin/indicators/${indicator}`,
    { name: 'Another', description: '', unit: '' },
    override,
  ],
  ['indicator.disable', `/admin/indicators/${indicator}/toggle`, {}, override],
  ['provider.rerun', '/admin/providers/gapminder/rerun', {}, jobs],
  ['run.accept', '/admin/runs/undp/held/accept', BECAUSE, jobs],
  ['snapshot.rebuild', '/admin/rebuild', BECAUSE, jobs],
  ['snapshot.rollback', `/admin/snapshots/${snapshot}/rollback`, BECAUSE, jobs],
];

describe('a process that dies between a change and its audit entry', () => {
  it.each(CHANGES)('leaves an unconfirmed entry: %s', async (action, path, fields, facts) => {
    const before = await facts();
    const _csrf = tokenOf(await operator.get('/admin/'));
    dieBeforeAuditEntry(service.adminClient);
    expect((await operator.post(path, { _csrf, ...fields })).status).toBe(503);
    vi.restoreAllMocks();
    expect(await facts(), 'the change was made').not.toEqual(before);
    const [entry, next] = await laterEntries();
    expect(entry).toMatchObject({ action, by: 'operator@example.org', after: { outcome: CUT } });
    expect(entry?.request_id).toMatch(/^test-\d+$/);
    expect(entry?.at_ms).toBe(service.clock.ms - PENDING_TIMEOUT_MS);
    expect(next?.action).not.toBe(action);
    expect(await service.client.hlen(redisKeys.auditBegun)).toBe(0);
  });

  it('leaves a repeatable adjustment, which applies once and gets one complete entry', async () => {
    const had = await balance();
    const path = `/admin/users/${account_id}`;
    const send = () =>
      operator.submit('/admin/', `${path}/credits`, { delta: '3', reason: 'again', idem: 'y' });
    const _csrf = tokenOf(await operator.get('/admin/'));
    dieBeforeAuditEntry(service.adminClient);
    await operator.post(`${path}/credits`, { _csrf, delta: '3', reason: 'again', idem: 'y' });
    vi.restoreAllMocks();
    expect((await send()).status).toBe(303);
    expect((await send()).status).toBe(303);
    expect(await balance()).toBe(had + 3);
    const entries = (await laterEntries()).filter(({ reason }) => reason === 'again');
    const after = { asked: 3, applied: 3, shortfall: 0, balance: had + 3 };
    expect(entries.map((entry) => entry.after)).toEqual(expect.arrayContaining([after]));
    expect(entries.filter((entry) => entry.after.outcome === undefined)).toHaveLength(1);
  });

  it.each([
    ['operator.create', 'operator-create', { email: 'new@example.org', role: 'viewer' }],
    ['operator.reset', 'operator-reset', { email: 'new@example.org' }],
    ['operator.remove', 'operator-remove', { email: 'new@example.org' }],
  ])('leaves an unconfirmed entry on the command line: %s', async (action, command, values) => {
    const client = await service.redis.connect();
    dieBeforeAuditEntry(client);
    await expect(OPERATOR_COMMANDS[command]?.run({ redis: client }, values)).rejects.toThrow(
      'Redis did not answer',
    );
    // The command line uses the real clock.
    const audit = new AuditLog(service.client, () => Date.now() + PENDING_TIMEOUT_MS);
    await audit.recoverPending();
    expect(await audit.list({ subject: 'operator new@example.org', limit: 1 })).toMatchObject([
      { action, by: 'command line', after: { outcome: CUT } },
    ]);
  });
});

it('the audit log holds changes of the command line, and none that were refused or changed nothing', async () => {
  const run = (command: string, values: Record<string, string | boolean>) =>
    COMMANDS[command]?.run(
      { store: service.accounts, redis: service.client, settings: {} as never, archive: {} as never },
      { email: 'ann@example.org', ...values },
    );
  await run('suspend', {});
  await run('suspend', {});
  await run('grant', { credits: '5', idem: 'g' });
  await run('grant', { credits: '5', idem: 'g' });
  await expect(run('grant', { credits: '6', idem: 'g' })).rejects.toThrow('already used');
  await run('close', {});
  await expect(run('restore', {})).rejects.toThrow('A closed account cannot change its state');
  const audit = service.audit;
  const entries = (await audit.list({ subject: `account ${account_id}` })).filter(
    ({ by }) => by === 'command line',
  );
  expect(entries.map(({ action }) => action)).toEqual(['account.close', 'credits.grant', 'account.suspend']);
  expect(entries.at(-1)).toMatchObject({ before: { state: 'active' }, after: { state: 'suspended' } });
  expect(await service.client.hlen(redisKeys.auditBegun)).toBe(0);
});

it("names a change by our request id, never by the client's own", async () => {
  await operator.signIn('operator@example.org', 'correct horse battery staple');
  operator.headers['x-request-id'] = 'chosen-by-the-client';
  const answer = await operator.submit('/admin/', '/admin/providers/owid/rerun', {});
  delete operator.headers['x-request-id'];
  expect([answer.status, answer.headers['x-request-id']]).toEqual([303, 'chosen-by-the-client']);
  const [entry] = await service.audit.list({ limit: 1 });
  expect(entry).toMatchObject({
    action: 'provider.rerun',
    request_id: answer.headers['x-server-request-id'],
  });
  expect(entry?.request_id).toMatch(/^test-\d+$/);
});
