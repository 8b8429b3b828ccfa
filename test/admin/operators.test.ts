/** Operators created from the command line and at the first start. */
import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { ensureFirstOperator } from '../../admin/first-operator.ts';
import { OPERATOR_COMMANDS } from '../../admin/operator-commands.ts';
import { OperatorStore } from '../../admin/operators.ts';
import { readSettings } from '../../data/runtime/settings.ts';
import { AuditLog } from '../../gateway/commerce/history/audit-log.ts';
import { useDirectory } from '../after-tests.ts';
import { useRedis } from '../redis.ts';

const redis = await useRedis();
const client = await redis.connect();
const operators = new OperatorStore(client, () => 1_000);
const audit = new AuditLog(client, () => 1_000);
const directory = await useDirectory();
beforeEach(async () => {
  const keys = await client.keys('*');
  if (keys.length > 0) await client.del(...keys);
  await rm(join(directory, 'operator'), { force: true });
});

const run = (name: string, values: Record<string, string>) => {
  const command = OPERATOR_COMMANDS[name];
  if (!command) throw new Error(`there is no command ${name}`);
  return command.run({ redis: client }, values);
};
const opens = async (email: string, password: unknown): Promise<boolean> =>
  operators.accepts({ email, password: String(password) });

it('are created, reset, listed and removed, each with an audit entry', async () => {
  const created = await run('operator-create', { email: 'Ann@Example.org', role: 'viewer' });
  expect(created).toMatchObject({ email: 'ann@example.org', role: 'viewer' });
  expect(await opens('ann@example.org', created.password)).toBe(true);
  await expect(run('operator-create', { email: 'ann@example.org' })).rejects.toThrow(
    'There is already an operator',
  );
  const reset = await run('operator-reset', { email: 'ann@example.org' });
  expect(reset.role).toBe('viewer');
  expect([
    await opens('ann@example.org', created.password),
    await opens('ann@example.org', reset.password),
  ]).toEqual([false, true]);
  expect(await run('operator-list', {})).toMatchObject({
    operators: [{ email: 'ann@example.org', role: 'viewer' }],
  });
  await run('operator-remove', { email: 'ann@example.org' });
  expect(await opens('ann@example.org', reset.password)).toBe(false);
  expect(await client.xlen('{audit}:log')).toBe(3);
});

it.each([
  ['operator-create', {}, '--email is required'],
  ['operator-create', { email: 'no address' }, 'is not an e-mail address'],
  ['operator-create', { email: 'a@example.org', role: 'king' }, '--role takes viewer, operator or owner'],
  ['operator-reset', { email: 'a@example.org' }, 'There is no operator'],
  ['operator-remove', { email: 'a@example.org' }, 'There is no operator'],
])('%s %j is refused with a message', async (name, values, sentence) => {
  await expect(run(name, values)).rejects.toThrow(sentence);
  expect(await client.keys('operator*')).toEqual([]);
});

it('are stored without their password', async () => {
  await operators.put('a@example.org', 'operator', 'a password to find');
  for (const key of await client.keys('operator:*'))
    expect(JSON.stringify(await client.hgetall(key))).not.toContain('a password to find');
});

const ownSettings = () => readSettings({ VAR_DIR: directory });
const settings = { ADMIN_EMAIL: 'boss@example.org', ADMIN_PASSWORD: 'from the settings' };

it('are created from ADMIN_EMAIL and ADMIN_PASSWORD only when none exists', async () => {
  expect(await ensureFirstOperator(operators, audit, { ...settings, VAR_DIR: directory }, true)).toBeNull();
  expect(await opens('boss@example.org', 'from the settings')).toBe(true);
  expect(await audit.list()).toMatchObject([
    { action: 'operator.create', by: 'start of the service', subject: 'operator boss@example.org' },
  ]);
  await operators.put('boss@example.org', 'owner', 'changed since then');
  await ensureFirstOperator(operators, audit, { ...settings, VAR_DIR: directory }, true);
  expect(await opens('boss@example.org', 'changed since then')).toBe(true);
});

it('get a generated password in a trial, the same at every start, in a file only its owner can read', async () => {
  const first = await ensureFirstOperator(operators, audit, ownSettings(), true);
  expect(await opens(first?.email ?? '', first?.password)).toBe(true);
  expect((await stat(join(directory, 'operator'))).mode & 0o777).toBe(0o600);
  expect(await ensureFirstOperator(operators, audit, ownSettings(), true)).toEqual(first);
  expect((await readFile(join(directory, 'operator'), 'utf8')).trim()).toBe(first?.password);
  await run('operator-reset', { email: first?.email ?? '' });
  expect(await ensureFirstOperator(operators, audit, ownSettings(), true)).toBeNull();
});

it('are not created outside a trial without settings', async () => {
  expect(await ensureFirstOperator(operators, audit, ownSettings(), false)).toBeNull();
  expect(await operators.list()).toEqual([]);
});
