/** Mails about changes: who is told of what, by whom it was done, and each event once. */
import { describe, expect, it } from 'vitest';
import { run } from '../../../admin/cli.ts';
import { ConditionStore } from '../../../admin/condition-watch.ts';
import { DAY_MS, redisKeys } from '../../../data/schema/redis-keys.ts';
import type { GivenRole } from '../../../gateway/commerce/accounts/member-store.ts';
import { PENDING_TIMEOUT_MS } from '../../../gateway/commerce/history/audit-log.ts';
import type { Mail } from '../../../gateway/commerce/notifications/mail/mailer.ts';
import type { Visitor } from '../../admin/harness.ts';
import { codeAt } from './authenticator.ts';
import { type Customer, NOON, PASSWORD, useAccountPages } from './pages/harness.ts';

const CONTACT = 'help@almanac.example';
const OPERATORS = 'operators@almanac.example';
const HOUR_MS = 3_600_000;

let people = 0;
const harness = await useAccountPages({
  settings: { CONTACT_EMAIL: CONTACT, OPERATOR_ALERT_EMAIL: OPERATORS },
});

/** What the sweep sends to an address, after what it has already. */
async function sweep(email: string): Promise<Mail[]> {
  const before = harness.mailbox.to(email).length;
  await harness.handlers.sweep({});
  await harness.settled();
  return harness.mailbox.to(email).slice(before);
}

const subjects = (mails: readonly Mail[]): string[] => mails.map(({ subject }) => subject);

async function commandLine(...argv: string[]): Promise<void> {
  let err = '';
  const env = { REDIS_URL: harness.settings.REDIS_URL, VAR_DIR: harness.settings.VAR_DIR };
  const output = { env, stdout: { write: () => true }, stderr: { write: (text: string) => (err += text) } };
  expect([await run(argv, output), err]).toEqual([0, '']);
}

/** A customer who has been told everything so far. */
async function customer(name = 'Ann'): Promise<Customer> {
  const made = await harness.customer(name);
  await sweep(made.email);
  return made;
}

interface Guest {
  email: string;
  person_id: string;
  visitor: Visitor;
}

async function guestOf({ account_id, person_id: by }: Customer, role: GivenRole): Promise<Guest> {
  const { context } = harness;
  const email = `member-${people++}@example.org`;
  const { person_id, epoch } = await context.persons.findOrCreate(email, 'Guest');
  const { invitation_id } = await context.members.invite(account_id, { email, role, by });
  await context.members.accept(account_id, invitation_id, person_id);
  const visitor = harness.visitor();
  visitor.cookies.set(context.site.cookie, (await context.sessions.begin(person_id, epoch)).id);
  return { email, person_id, visitor };
}

describe('an order', () => {
  it('is told to the owner and to billing members, by whom it was placed and cancelled', async () => {
    const ann = await customer();
    const billing = await guestOf(ann, 'billing');
    const developer = await guestOf(ann, 'developer');
    const order = { pack: 'starter', payment: 'invoice' };
    const { location } = await billing.visitor.submit('/account/orders', '/account/orders', order);
    const [mail, ...others] = await sweep(ann.email);
    expect(others).toEqual([]);
    const order_id = /ord_[0-9a-z]+/.exec(location)?.[0] ?? '';
    expect(mail?.subject).toBe('Your order was placed');
    for (const words of [
      order_id,
      `By: Guest <${billing.email}>, billing`,
      'At: 2026-11-21 12:00 UTC',
      `Account: Ann`,
      `${harness.url}/account/orders/${order_id}`,
      `Questions: ${CONTACT}`,
      'do not pay',
    ])
      expect(mail?.text).toContain(words);
    expect(harness.mailbox.to(billing.email).map(({ text }) => text)).toEqual([
      expect.stringContaining('By: you\n'),
    ]);
    const path = `/account/orders/${order_id}/cancel`;
    expect((await ann.visitor.submit(path, path, {})).status).toBe(303);
    expect(subjects(await sweep(billing.email))).toEqual(['Your order was cancelled']);
    expect(harness.mailbox.to(developer.email)).toEqual([]);
  });

  it('is told with every step that the command line makes, beside the gateway', async () => {
    const ann = await customer();
    await commandLine('order', '--email', ann.email, '--pack', 'starter');
    const [{ order_id = '' } = {}] = await harness.accounts.orders.list(ann.account_id);
    await commandLine('order', '--order', order_id, '--paid');
    await commandLine('order', '--order', order_id, '--paid');
    await commandLine('order', '--order', order_id, '--refunded');
    await commandLine('order', '--email', ann.email, '--pack', 'starter', '--failed');
    const mails = await sweep(ann.email);
    expect(subjects(mails).sort()).toEqual([
      'The payment of your order failed',
      'Your order was placed',
      'Your order was placed',
      'Your order was refunded',
      'Your payment was received',
    ]);
    for (const { text } of mails) expect(text).toContain('By: an operator of Almanac');
  });

  it('is told when a payment provider reports it', async () => {
    const ann = await customer();
    const { order_id } = await harness.accounts.orders.create(ann.account_id, 'starter', 'stripe');
    const report = { kind: 'paid', session_id: 's', payment_id: 'p' } as const;
    for (let repeat = 0; repeat < 2; repeat++) await harness.accounts.orders.settle(order_id, report);
    const [mail, ...others] = await sweep(ann.email);
    expect(others).toEqual([]);
    expect(mail?.text).toContain('By: the card payment service');
  });
});

describe('a key', () => {
  it('is told to the owner and its maker, and never in full', async () => {
    const ann = await customer();
    const maker = await guestOf(ann, 'developer');
    const other = await guestOf(ann, 'developer');
    const { key } = await harness.makeKey({ ...ann, visitor: maker.visitor }, { label: 'notebook' });
    const [{ key_id = '' } = {}] = await harness.accounts.keys.list(ann.account_id);
    await maker.visitor.submit(`/account/keys/${key_id}`, `/account/keys/${key_id}/rotate`, { grace: '1' });
    const path = `/account/keys/${key_id}/revoke`;
    await ann.visitor.submit(path, path, {});
    const told = ['A key was created', 'A key was replaced', 'A key was revoked'];
    const mails = await sweep(ann.email);
    expect(subjects(mails).sort()).toEqual(told);
    expect(subjects(harness.mailbox.to(maker.email)).sort()).toEqual(told);
    expect(harness.mailbox.to(other.email)).toEqual([]);
    for (const { text } of mails) {
      expect(text).toContain(`The key ${key_id}, which ends with ${key.slice(-4)} (notebook),`);
      expect(text).not.toContain(key.slice(-20));
      expect(text).toContain(CONTACT);
    }
  });

  it('is not told to a maker who is no longer a member', async () => {
    const ann = await customer();
    const maker = await guestOf(ann, 'developer');
    await harness.makeKey({ ...ann, visitor: maker.visitor });
    await harness.context.members.remove(ann.account_id, { person_id: maker.person_id, by: ann.person_id });
    expect(subjects(await sweep(ann.email))).toEqual(['A key was created']);
    expect(harness.mailbox.to(maker.email)).toEqual([]);
  });

  it('is told 7 days and 1 day before it expires, once each', async () => {
    const ann = await customer();
    const expires_at_ms = NOON + 30 * DAY_MS;
    const short = await harness.accounts.keys.mint(ann.account_id, { expires_at_ms: NOON + 2 * DAY_MS });
    const { key_id } = await harness.accounts.keys.mint(ann.account_id, { expires_at_ms, label: 'notebook' });
    const told: string[] = [];
    for (let hours = 0; hours <= 31 * 24; hours += 8) {
      harness.clock.ms = NOON + hours * HOUR_MS;
      await Promise.all([harness.handlers['expiring-keys']({}), harness.handlers['expiring-keys']({})]);
      await Promise.all([harness.handlers.sweep({}), harness.handlers.sweep({})]);
      await harness.settled();
      for (const { subject, text } of harness.mailbox.to(ann.email).slice(1 + told.length))
        told.push(`${hours / 24} ${text.includes(short.key_id) ? 'short' : key_id && 'long'} ${subject}`);
    }
    harness.clock.ms = NOON;
    expect(told).toEqual([
      '1 short A key expires within a day',
      '23 long A key expires within 7 days',
      '29 long A key expires within a day',
    ]);
  });
});

describe('an account', () => {
  it('is told of its suspension, its end, and of closing with what is forfeited', async () => {
    const ann = await customer();
    const member = await guestOf(ann, 'billing');
    await harness.accounts.keys.mint(ann.account_id, {});
    await harness.accounts.grant(ann.account_id, { credits: 1_234, by: 'test' });
    const balance = new Intl.NumberFormat('en').format(await harness.balance(ann.account_id));
    await commandLine('suspend', '--email', ann.email);
    await commandLine('suspend', '--email', ann.email);
    expect(subjects(await sweep(ann.email))).toEqual(['Your account is suspended']);
    await commandLine('restore', '--email', ann.email);
    expect(subjects(await sweep(ann.email))).toEqual(['The suspension of your account has ended']);
    await commandLine('close', '--email', ann.email);
    const [closed, ...others] = await sweep(ann.email);
    expect(others).toEqual([]);
    expect(closed?.subject).toBe('Your account is closed');
    expect(closed?.text).toContain(
      `Forfeited: ${balance} credits that were not spent, and 1 key, which is revoked.`,
    );
    expect(closed?.text).toContain('kept until you have it erased');
    expect(harness.mailbox.to(member.email)).toEqual([]);
  });

  it('is told by whom it was closed over the pages', async () => {
    const ann = await customer();
    await ann.visitor.submit('/account/close', '/account/close', {
      confirmation: PASSWORD,
      password: PASSWORD,
    });
    const [mail] = await sweep(ann.email);
    expect(mail?.text).toContain('By: you');
  });

  it('whose owner changes the password is told so', async () => {
    const ann = await customer();
    const password = 'another battery staple';
    const page = await ann.visitor.submit('/account/profile', '/account/password', {
      current: PASSWORD,
      password,
    });
    expect(page.status).toBe(303);
    const [mail, ...others] = await sweep(ann.email);
    expect(others).toEqual([]);
    expect(mail).toMatchObject({
      subject: 'Your password was changed',
      link: `${harness.url}/account/forgot`,
    });
    expect(mail?.text).not.toContain(password);
  });
});

describe('each event', () => {
  it('is told once, whatever is repeated', async () => {
    const ann = await customer();
    await commandLine('suspend', '--email', ann.email);
    const outbox = redisKeys.accountOutbox(ann.account_id);
    const written = await harness.redis.hgetall(outbox);
    const sweeps = Array.from({ length: 5 }, () => harness.handlers.sweep({}));
    const mails = await sweep(ann.email);
    await Promise.all(sweeps);
    // A process that ended before it removed the event.
    await harness.redis.hset(outbox, written);
    expect(await sweep(ann.email)).toEqual([]);
    expect(subjects(mails)).toContain('Your account is suspended');
    expect(subjects(harness.mailbox.to(ann.email)).filter((text) => text.includes('suspended'))).toHaveLength(
      1,
    );
  });

  it('has the same Message-ID when its job runs again', async () => {
    const ann = await customer();
    await commandLine('suspend', '--email', ann.email);
    const [[id = '', json = ''] = []] = Object.entries(
      await harness.redis.hgetall(redisKeys.accountOutbox(ann.account_id)),
    );
    await sweep(ann.email);
    await harness.handlers.told({
      account_id: ann.account_id,
      recipient: ann.person_id,
      event: { reason: '', ...JSON.parse(json), id },
    });
    const sent = harness.mailbox.to(ann.email).map((mail) => ('raw' in mail ? String(mail.raw) : ''));
    const ids = sent.map((raw) => /^Message-ID: (\S+)/im.exec(raw)?.[1]);
    expect(ids).toHaveLength(3);
    expect(ids.slice(1)).toEqual([ids[2], ids[2]]);
    expect(ids[2]).toMatch(/^<notice-/);
  });

  it('is told even if the process ends right after the change, and only if it was made', async () => {
    const ann = await customer('Ann');
    const bob = await customer('Bob');
    for (const { account_id } of [ann, bob]) {
      const change = {
        by: 'op@almanac.example',
        action: 'account.suspend',
        subject: `account ${account_id}`,
        before: {},
        after: { state: 'suspended' },
        reason: '',
        request_id: '',
      };
      const crash = async (): Promise<void> => {
        if (account_id === ann.account_id) await harness.accounts.suspend(account_id, 'operator');
        throw new Error('the process ended');
      };
      await harness.context.audit.attempt(change, crash, () => ({})).catch(() => {});
    }
    expect(subjects(await sweep(ann.email))).toEqual(['Your account is suspended']);
    harness.clock.ms += PENDING_TIMEOUT_MS;
    expect(await sweep(ann.email)).toEqual([]);
    expect(subjects(harness.mailbox.to(bob.email))).not.toContain('Your account is suspended');
    harness.clock.ms = NOON;
  });

  it('is written by the script of the change: of a second factor, an export, and what operators are alerted to', async () => {
    const ann = await customer();
    const { site, requests } = harness.context;
    const { secret } = site.secondFactor.propose({ issuer: 'Almanac', label: ann.email });
    const code = codeAt(secret, harness.clock.ms);
    await site.secondFactor.turnOn(ann.person_id, { secret, code });
    expect(subjects(await sweep(ann.email))).toEqual(['Your second factor is on']);
    const made = await site.secondFactor.renewRecoveryCodes(ann.person_id);
    expect(subjects(await sweep(ann.email))).toEqual(['You have new recovery codes']);
    const [first = '', second = ''] = made ?? [];
    expect((await site.secondFactor.check(ann.person_id, first)).kind).toBe('accepted');
    expect(await sweep(ann.email)).toEqual([]);
    expect((await site.secondFactor.check(ann.person_id, second, true)).kind).toBe('accepted');
    expect(subjects(await sweep(ann.email))).toEqual(['A recovery code was used']);
    await site.secondFactor.turnOff(ann.person_id);
    expect(subjects(await sweep(ann.email))).toEqual(['Your second factor is off']);
    const { request_id } = await requests.open(ann.account_id, 'export');
    await requests.markReady(request_id, 'A zip file');
    expect(subjects(await sweep(ann.email))).toEqual(['Your data is ready']);
    const held = {
      condition: 'held-run:who',
      severity: 'warning',
      what: 'A run is held.',
      since: null,
      url: '',
    };
    const at = new Date(harness.clock.ms).toISOString();
    const conditions = new ConditionStore(harness.redis);
    await conditions.note(1, { found: [held], complete: [] }, { id: 'alert', at });
    expect(subjects(await sweep(OPERATORS))).toEqual(['A run is held.']);
    expect(await harness.redis.hlen(redisKeys.operatorOutbox)).toBe(0);
  });
});
