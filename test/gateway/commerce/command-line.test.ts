/** `npm run account -- …`: most commands run in this process, two in a process of their own. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { run } from '../../../admin/cli.ts';
import { parseKey } from '../../../gateway/api/metering/keys.ts';
import { useDirectory } from '../../after-tests.ts';
import { flushRedis, useRedis } from '../../redis.ts';

const MAIN = join(import.meta.dirname, '../../../admin/cli.ts');

const server = await useRedis();
const varDir = await useDirectory();
beforeEach(async () => {
  await flushRedis(await server.connect());
});

interface Result {
  code: number;
  out: string;
  err: string;
}

const environment = () => ({ ...server.settings, VAR_DIR: varDir });

async function account(argv: string[], changes: Record<string, string> = {}): Promise<Result> {
  const result = { out: '', err: '' };
  const code = await run(argv, {
    env: { ...environment(), ...changes },
    stdout: { write: (text) => (result.out += text) },
    stderr: { write: (text) => (result.err += text) },
  });
  return { code, ...result };
}

/** The same in a process of its own, whose environment `env` extends. */
function accountProcess(argv: string[]): Promise<Result> {
  const settings = Object.entries(environment()).map(([name, value]) => `${name}=${value}`);
  return new Promise((resolve) => {
    execFile('env', [...settings, process.execPath, MAIN, ...argv], (error, out, err) => {
      resolve({ code: Number(error?.code ?? 0), out, err });
    });
  });
}

/** Checks that a command succeeds and prints one line of JSON, and returns the object. */
function parseResult({ code, out, err }: Result): Record<string, unknown> {
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out.trimEnd().split('\n')).toHaveLength(1);
  return JSON.parse(out);
}

const answer = async (...argv: string[]) => parseResult(await account([...argv, '--json']));

const EMAIL = ['--email', 'a@b.example'];

describe('as a process', () => {
  it('exits with 0 and prints one JSON object on standard output', async () => {
    expect(parseResult(await accountProcess(['create', ...EMAIL, '--credits', '7', '--json']))).toEqual({
      account_id: expect.stringMatching(/^acc_/),
      balance: 7,
    });
  });

  it('exits with 1 and prints one sentence on standard error', async () => {
    expect(await accountProcess(['show', ...EMAIL, '--json'])).toEqual({
      code: 1,
      out: '',
      err: 'There is no account a@b.example.\n',
    });
  });
});

describe('account commands', () => {
  it('create prints the account id and its balance', async () => {
    expect(await answer('create', ...EMAIL, '--verified', '--credits', '1000')).toEqual({
      account_id: expect.stringMatching(/^acc_/),
      balance: 1000,
    });
    expect(await answer('show', ...EMAIL)).toMatchObject({ verified: true, tier: 'free', balance: 1000 });
  });

  it('key prints a valid key, with its expiry if one was given', async () => {
    await answer('create', ...EMAIL);
    const { key, key_id, ...rest } = await answer('key', ...EMAIL);
    expect(rest).toEqual({});
    expect(parseKey(String(key))).toMatchObject({ key_id, environment: 'live' });
    expect(await answer('key', ...EMAIL, '--expires', '2127-01-01T00:00:00Z')).toMatchObject({
      expires_at: '2127-01-01T00:00:00.000Z',
    });
  });

  it('rename, rules and rotate print what became of the key', async () => {
    await answer('create', ...EMAIL);
    const ranges = ['--ranges', '203.0.113.0/24, 2001:db8::1'];
    const bound = ['--limit', '9', ...ranges, '--origins', 'https://a.example'];
    const { key_id: old } = await answer('key', ...EMAIL, '--label', 'a', ...bound);
    const id = ['--key-id', String(old)];
    expect(await answer('rename', ...id, '--label', 'b')).toEqual({ key_id: old, label: 'b' });
    const { key, key_id, ...rest } = await answer('rotate', ...id, '--hours', '24');
    expect(parseKey(String(key))?.key_id).toBe(key_id);
    expect(rest).toEqual({ replaces: old, replaced_ends_at: expect.stringMatching(/^\d{4}-.*Z$/) });
    expect(await answer('show', ...EMAIL)).toMatchObject({
      keys: [
        {
          key_id: old,
          label: 'b',
          replaced_by: key_id,
          by: 'command line',
          expires_at: rest.replaced_ends_at,
        },
        { key_id, label: 'b', monthly_limit: 9, ranges: ['203.0.113.0/24', '2001:db8::1/128'] },
      ],
    });
    const lifted = { key_id, monthly_limit: null, ranges: [], origins: [] };
    expect(await answer('rules', '--key-id', String(key_id))).toEqual(lifted);
    expect((await account(['rotate', ...id, '--hours', '1'])).err).toMatch(/was replaced already/);
    expect((await account(['rules', ...id, '--limit', '1'])).err).toMatch(/was replaced already/);
  });

  it('revoke, suspend, restore and close print the new state', async () => {
    await answer('create', ...EMAIL);
    const { key_id } = await answer('key', ...EMAIL);
    expect(await answer('revoke', '--key-id', String(key_id))).toEqual({ key_id, state: 'revoked' });
    expect(await answer('suspend', ...EMAIL)).toMatchObject({ state: 'suspended' });
    expect(await answer('restore', ...EMAIL)).toMatchObject({ state: 'active' });
    expect(await answer('close', ...EMAIL)).toMatchObject({ state: 'closed' });
  });

  it('verify and grant change tier and balance; a repeated --idem grants once', async () => {
    await answer('create', ...EMAIL);
    expect(await answer('verify', ...EMAIL)).toMatchObject({ verified: true, tier: 'free' });
    expect(await answer('grant', ...EMAIL, '--credits', '5')).toMatchObject({ granted: 5, balance: 5 });
    const once = ['grant', ...EMAIL, '--credits', '7', '--idem', 'x', '--reason', 'thanks'];
    expect(await answer(...once)).toMatchObject({ balance: 12 });
    expect(await answer(...once)).toMatchObject({ balance: 12 });
    expect(await answer('show', ...EMAIL)).toMatchObject({ balance: 12, ledger: [{ reason: 'thanks' }, {}] });
  });

  it('order grants the credits of a pack once, paid at once or later', async () => {
    await answer('create', ...EMAIL, '--verified');
    const paid = await answer('order', ...EMAIL, '--pack', 'starter', '--paid');
    expect(paid).toMatchObject({ state: 'paid', pack: 'starter', credits: paid.balance });
    const { order_id } = await answer('order', ...EMAIL, '--pack', 'starter');
    await answer('order', '--order', String(order_id), '--paid');
    await answer('order', '--order', String(order_id), '--paid');
    expect(await answer('show', ...EMAIL)).toMatchObject({
      balance: 2 * Number(paid.credits),
      tier: 'paid',
      orders: [{ state: 'paid' }, { state: 'paid' }],
    });
  });

  it('show prints times in ISO 8601 and no secrets', async () => {
    await answer('create', ...EMAIL, '--credits', '1');
    const { key } = await answer('key', ...EMAIL, '--label', 'laptop');
    const shown = await answer('show', ...EMAIL);
    expect(shown).toMatchObject({
      email: 'a@b.example',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      credits: { balance: 1, lifetime_granted: 1, lifetime_spent: 0 },
      keys: [{ label: 'laptop', last4: String(key).slice(-4), state: 'active', last_used_at: null }],
    });
    expect(JSON.stringify(shown)).not.toContain(String(key).slice(22));
  });
});

describe('a failed command returns 1, prints one sentence on standard error and nothing on standard output', () => {
  it.each([
    [['nonsense'], /no command "nonsense"; there are create, verify, key/],
    [['create'], /--email is required/],
    [['create', '--email', 'nobody'], /not an e-mail address/],
    [['create', '--emial', 'a@b.example'], /--emial.*"create" takes --email/],
    [['create', 'a@b.example'], /a@b\.example.*"create" takes --email/],
    [['create', ...EMAIL, '--credits', 'many'], /--credits takes a whole number, not "many"/],
    [['create', ...EMAIL, '--credits=-5'], /--credits takes a whole number/],
    [['create', ...EMAIL, '--credits'], /--credits/],
    [['key', '--email', 'unknown@b.example'], /no account unknown@b\.example/],
    [['key', ...EMAIL, '--expires', 'tomorrow'], /--expires takes a time like/],
    [['rotate', '--key-id', 'x', '--hours', '169'], /--hours takes a whole number from 0 to 168/],
    [['rotate', '--key-id', 'x', '--hours', '1.5'], /--hours takes a whole number/],
    [['revoke', '--key-id', 'nothing'], /no key with the id nothing/],
    [['order', ...EMAIL, '--paid', '--failed'], /Only one of/],
    [['__proto__'], /no command "__proto__"/],
  ])('%j', async (argv, sentence) => {
    const { code, out, err } = await account([...argv, '--json']);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(sentence);
    expect(err.trimEnd().split('\n')).toHaveLength(1);
  });

  it('for an account that already exists', async () => {
    await answer('create', ...EMAIL);
    expect(await account(['create', ...EMAIL])).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/already/),
    });
  });

  it('for an unknown pack, and names the packs on sale', async () => {
    await answer('create', ...EMAIL);
    expect((await account(['order', ...EMAIL, '--pack', 'x'])).err).toMatch(
      /no credit pack x; there are starter/,
    );
  });

  it('if Redis does not answer', async () => {
    const { code, out, err } = await account(['show', ...EMAIL], { REDIS_URL: 'redis://127.0.0.1:1' });
    expect({ code, out, err }).toEqual({ code: 1, out: '', err: 'Redis (REDIS_URL) does not answer.\n' });
  });

  it('for an invalid setting', async () => {
    const { code, err } = await account(['show', ...EMAIL], { REDIS_URL: 'http://x' });
    expect({ code, names: err.includes('REDIS_URL') }).toEqual({ code: 1, names: true });
  });
});

it('help lists every command and its options', async () => {
  const { code, out } = await account(['--help']);
  expect(code).toBe(0);
  for (const word of 'create verify key revoke suspend restore close grant order show'.split(' '))
    expect(out).toContain(`  ${word} `);
  expect(out).toContain('--expires');
});

it('without --json prints one name and value per line', async () => {
  const { out } = await account(['create', ...EMAIL, '--credits', '3']);
  expect(out).toMatch(/^account_id: acc_\w+\nbalance: 3\n$/);
});

it('without REDIS_URL starts the private Redis for the duration of a command, and keeps the data', async () => {
  const withoutUrl = (argv: string[]) => account([...argv, '--json'], { REDIS_URL: '', REDIS_CLUSTER: '' });
  expect(await withoutUrl(['create', ...EMAIL, '--credits', '9'])).toMatchObject({ code: 0, err: '' });
  const { out } = await withoutUrl(['show', ...EMAIL]);
  expect(JSON.parse(out)).toMatchObject({ balance: 9 });
});
