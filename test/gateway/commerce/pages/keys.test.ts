/** The pages of keys: rules, rename, rotation, and usage by key. */
import { describe, expect, it } from 'vitest';
import { AuditLog, accountSubject } from '../../../../gateway/commerce/history/audit-log.ts';
import { type Page, wordsOf } from '../../../admin/harness.ts';
import { keyIn, useAccountPages } from './harness.ts';

const HOUR_MS = 3_600_000;

const keyIdOf = (key: string): string => key.split('_')[2] ?? '';
const pathOf = (key: string): string => `/account/keys/${keyIdOf(key)}`;
const listed = (key: string) =>
  harness.accounts.keys
    .list(ann.account_id)
    .then((keys) => keys.find(({ key_id }) => key_id === keyIdOf(key)));
const submit = (key: string, what: string, fields: Record<string, string>): Promise<Page> =>
  ann.visitor.submit(pathOf(key), `${pathOf(key)}/${what}`, fields);
const callFrom = async (key: string, headers: Record<string, string>): Promise<number> => {
  const options = { headers: { authorization: `Bearer ${key}`, ...headers } };
  return (await fetch(`${harness.url}/v1/countries/KEN`, options)).status;
};

const harness = await useAccountPages();
const ann = await harness.customer('Ann');

describe('pages of keys', () => {
  it('a key is made with rules, which the list shows with its maker', async () => {
    const { key } = await harness.makeKey(ann, {
      label: 'maps',
      use: 'browser',
      limit: '20',
      ranges: '203.0.113.0/24\r\n2001:db8::/32',
      origins: 'https://maps.example',
    });
    expect(await listed(key)).toMatchObject({
      label: 'maps',
      by: ann.person_id,
      monthly_limit: 20,
      origins: ['https://maps.example'],
      ranges: ['203.0.113.0/24', '2001:db8::/32'],
    });
    const words = wordsOf(await ann.visitor.get('/account/keys'));
    for (const shown of [ann.email, '0 of 20', '203.0.113.0/24, 2001:db8::/32, https://maps.example'])
      expect(words).toContain(shown);
    const home = { 'x-forwarded-for': '203.0.113.9', origin: 'https://maps.example' };
    expect(await callFrom(key, home)).toBe(200);
    expect(await callFrom(key, { ...home, origin: 'https://evil.example' })).toBe(403);
    expect(wordsOf(await ann.visitor.get(pathOf(key)))).toContain('1 of 20');
  });

  it.each([
    [{ use: 'browser', limit: '5' }, 'needs the origins of its pages and a monthly limit'],
    [{ use: 'browser', origins: 'https://a.example' }, 'needs the origins of its pages and a monthly limit'],
    [{ origins: 'https://a.example', limit: '5' }, 'Web origins are for keys for browsers'],
    [{ limit: '0' }, 'a whole number of credits, at least 1, not &quot;0&quot;'],
    [{ limit: '1.5' }, 'not &quot;1.5&quot;'],
    [{ ranges: '203.0.113.7/24' }, 'write 203.0.113.0/24 for the range'],
    [{ ranges: '203.0.113' }, '&quot;203.0.113&quot; is neither an IP address nor a range in CIDR notation'],
    [
      { use: 'browser', limit: '5', origins: 'https://a.example/x' },
      '&quot;https://a.example/x&quot; is not a web origin',
    ],
    [{ ranges: Array.from({ length: 21 }, (_, n) => `10.0.0.${n}`).join(' ') }, 'at most 20 address ranges'],
  ])('%o is refused with what was expected, and the form keeps it', async (fields, problem) => {
    const before = (await harness.accounts.keys.list(ann.account_id)).length;
    const { page } = await harness.makeKey(ann, { label: 'kept', ...fields });
    expect(page.status).toBe(422);
    expect(page.html).toContain(problem);
    expect(page.html).toContain('value="kept"');
    for (const value of Object.values(fields)) expect(page.html).toContain(value);
    expect(await harness.accounts.keys.list(ann.account_id)).toHaveLength(before);
  });

  it('a key is renamed, and its rules are changed, from the next call on', async () => {
    const { key } = await harness.makeKey(ann, { label: 'old' });
    expect((await submit(key, 'label', { label: 'new <b>' })).status).toBe(303);
    expect((await ann.visitor.get(pathOf(key))).html).toContain('new &lt;b&gt;');
    expect((await harness.call(key)).status).toBe(200);
    const refused = await submit(key, 'rules', { use: 'server', limit: 'x', ranges: '', origins: '' });
    expect(refused.status).toBe(422);
    const rules = { use: 'server', limit: '1', ranges: '', origins: '' };
    expect((await submit(key, 'rules', rules)).status).toBe(303);
    expect((await harness.call(key)).status).toBe(402);
    expect((await submit(key, 'rules', { ...rules, limit: '' })).status).toBe(303);
    expect((await harness.call(key)).status).toBe(200);
  });

  it('a key is rotated: the new one takes over, the old one ends after its grace, neither passes the limit', async () => {
    const { key: old } = await harness.makeKey(ann, { label: 'robot', limit: '3' });
    expect((await harness.call(old)).status).toBe(200);
    const page = await submit(old, 'rotate', { grace: '1' });
    const key = keyIn(page);
    expect(wordsOf(page)).toContain(`It replaces ${keyIdOf(old)} , which stays valid until`);
    expect(await listed(key)).toMatchObject({
      label: 'robot',
      monthly_limit: 3,
      month_credits: 1,
      replaces: keyIdOf(old),
      by: ann.person_id,
    });
    expect(wordsOf(await ann.visitor.get('/account/keys'))).toContain(`replaced by ${keyIdOf(key)}`);
    expect(wordsOf(await ann.visitor.get(pathOf(old)))).toContain('Its calls count for the limit of the key');
    for (const one of [old, key]) expect((await harness.call(one)).status).toBe(200);
    for (const one of [old, key]) expect((await harness.call(one)).status).toBe(402);
    const again = await ann.visitor.submit('/account/keys', `${pathOf(old)}/rotate`, { grace: '1' });
    expect([again.status, wordsOf(again)]).toEqual([409, expect.stringContaining('was replaced already')]);
    harness.clock.ms += HOUR_MS;
    await harness.signIn(ann.visitor, ann.email);
    expect((await harness.call(old, '/v1/ping')).status).toBe(401);
    expect((await harness.call(key, '/v1/ping')).status).toBe(200);
    const last = await submit(key, 'rotate', { grace: '0' });
    expect(wordsOf(last)).toContain('which no longer works');
    expect((await harness.call(key, '/v1/ping')).status).toBe(401);
    const revoked = await ann.visitor.submit('/account/keys', `${pathOf(key)}/rotate`, { grace: '1' });
    expect([revoked.status, wordsOf(revoked)]).toEqual([409, expect.stringContaining('is revoked')]);
    expect((await submit(keyIn(last), 'rotate', { grace: '5' })).status).toBe(422);
  });

  it('keys of other accounts are 404, whatever is asked of them', async () => {
    const { key } = await harness.makeKey(ann);
    const bob = await harness.customer('Bob');
    expect((await bob.visitor.get(pathOf(key))).status).toBe(404);
    expect((await bob.visitor.get(`${pathOf(key)}/revoke`)).status).toBe(404);
    const forms = { label: { label: 'x' }, rules: { use: 'server' }, rotate: { grace: '0' }, revoke: {} };
    for (const [what, fields] of Object.entries(forms)) {
      const page = await bob.visitor.submit('/account/keys', `${pathOf(key)}/${what}`, fields);
      expect([what, page.status]).toEqual([what, 404]);
    }
    expect(await listed(key)).toMatchObject({ state: 'active', label: '' });
  });

  it('usage is told by key, and neither it nor the audit log tells addresses or sites', async () => {
    const cid = await harness.customer('Cid');
    const { key } = await harness.makeKey(cid, { label: 'cids', ranges: '127.0.0.1 203.0.113.4' });
    await cid.visitor.submit(pathOf(key), `${pathOf(key)}/rules`, {
      use: 'browser',
      limit: '9',
      ranges: '',
      origins: 'https://cid.example',
    });
    expect(await callFrom(key, { origin: 'https://cid.example' })).toBe(200);
    const page = await cid.visitor.get('/account/usage');
    expect(wordsOf(page)).toMatch(new RegExp(`${keyIdOf(key)} cids 1 0 \\d+ 1`));
    const audit = new AuditLog(harness.redis, () => harness.clock.ms);
    const entries: unknown[] = [];
    for await (const entry of audit.readAll(accountSubject(cid.account_id))) entries.push(entry);
    expect(entries).toMatchObject([{ action: 'key.rules' }, { action: 'key.create' }, {}]);
    expect(JSON.stringify(entries)).not.toMatch(/203\.0\.113|cid\.example|@/);
  });
});
