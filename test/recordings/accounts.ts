/** The account area: sign-up, keys, orders, webhooks, members, privacy and closing, every form sent, and every mail. */
import { setTimeout as pause } from 'node:timers/promises';
import { extractText } from 'unpdf';
import { codeAt, STEP_MS } from '../gateway/commerce/authenticator.ts';
import { deliver, eventText, FakeStripe, stripeSettings } from '../gateway/commerce/pages/fake-stripe.ts';
import {
  type AccountPagesHarness,
  type Customer,
  PASSWORD,
  startAccountPages,
} from '../gateway/commerce/pages/harness.ts';
import { readExport } from '../gateway/commerce/pages/read-export.ts';
import { startReceiver } from '../gateway/commerce/webhooks/receiver.ts';
import { keysMatching } from '../redis.ts';
import { MAILS } from '../style/mails.ts';
import { type Area, explore } from './pages.ts';
import type { Recorder } from './recorder.ts';

const SECOND_MS = 1000;
const LAST = [/(rotate|cancel|withdraw)$/, /(revoke|remove|leave)$/, /(end|end-others)$/];
/** Sent in walks of their own, or not by an owner. */
const LEFT =
  /sign-out|\/close$|erasure$|ownership$|\/profile\/(email|erase)|\/password$|second-factor|sign-in/;
const GUEST = 'guest@example.org';

export async function recordAccounts(recorder: Recorder): Promise<void> {
  await using stripe = await FakeStripe.start();
  await using receiver = await startReceiver();
  await using harness = await startAccountPages({
    settings: {
      ...stripeSettings(stripe),
      FREE_GRANT: '5',
      WEBHOOK_PRIVATE_TARGETS: 'true',
      CONTACT_EMAIL: 'help@almanac.example',
      INVOICE_FROM: 'Almanac Ltd\n1 Example Street\nExampletown',
      INVOICE_PAY_TO: 'IBAN XX00 0000 0000 0000',
    },
  });
  recorder.watch('account', harness.url);
  recorder.replace(new URL(stripe.url).host, '<stripe>');
  recorder.replace(new URL(receiver.url).host, '<receiver>');
  const walk = new Walk(harness);
  await recordStrangers(walk);
  const owner = await harness.register();
  await recordOrders(walk, owner, stripe);
  const { key } = await harness.makeKey(owner, { label: 'notebook' });
  for (let call = 0; call < 3; call += 1) await harness.call(key);
  await recordMembers(walk, owner);
  await harness.signIn(harness.visitor(), owner.email);
  const typed = { url: `${receiver.url}/almanac`, 'type:key.created': '1', 'type:credits.low': '1' };
  await explore(walk.area(owner.visitor, typed), ['/account/'], LAST);
  await recordFiles(recorder, walk, owner);
  await recordSecondFactor(walk);
  await recordAddressChange(walk);
  await recordLeaving(walk);
  await recordOwnership(walk);
  const received = receiver.received.map(({ payload: { type, data } }) =>
    JSON.stringify({ type, data }, null, 1),
  );
  recorder.add('webhooks received', received.join('\n'));
  recorder.addMails(harness.mailbox.all);
}

class Walk {
  readonly harness: AccountPagesHarness;

  constructor(harness: AccountPagesHarness) {
    this.harness = harness;
  }

  /** Waits until the queues of the service are empty, then lets a second pass on its clock. */
  readonly settle = async (): Promise<void> => {
    for (let quiet = 0; quiet < 3; ) {
      const busy = await Promise.all(
        ['*:wait', '*:active'].map((name) => keysMatching(this.harness.redis, name)),
      );
      quiet = busy.flat().length === 0 ? quiet + 1 : 0;
      await pause(10);
    }
    this.harness.clock.ms += SECOND_MS;
  };

  area(visitor: Customer['visitor'], more: Record<string, string> = {}): Area {
    const typed = {
      password: PASSWORD,
      label: 'typed <i>label</i>',
      limit: '100',
      ranges: '203.0.113.0/24',
      email: GUEST,
      name: 'Typed <b>name</b>',
      address: '1 Street\nTown',
      country: 'DE',
      low_at: '500',
      above: '200',
      role: 'developer',
      expires: '2027-01-31',
      payment: 'invoice',
      ...more,
    };
    const { url } = this.harness;
    return { visitor, url, root: '/account', typed: () => typed, left: LEFT, settle: this.settle };
  }

  /** Sends a form and waits for what it causes. @returns the path of the link in the mail to that address */
  async mailed(to: string, send: () => Promise<unknown>): Promise<string> {
    const mail = this.harness.mailbox.next(to);
    await send();
    const { link } = await mail;
    await this.settle();
    return this.harness.pathOf(link);
  }

  /** What is due is told: balances, expiring keys, notices. */
  async sweep(): Promise<void> {
    await this.harness.handlers.sweep({});
    await this.settle();
  }
}

async function recordStrangers(walk: Walk): Promise<void> {
  const visitor = walk.harness.visitor();
  const pages = [
    '/account/',
    '/account/sign-up',
    '/account/forgot',
    '/account/sign-in-link',
    '/account/nothing',
  ];
  const more = [
    '/',
    '/pricing',
    '/account/summary',
    '/account/closed',
    '/account/confirm/none',
    '/account/keys',
  ];
  await explore({ ...walk.area(visitor), left: /^$/ }, [...pages, ...more]);
  for (const path of more) await visitor.get(path);
  await visitor.post('/account/sign-in', { email: GUEST, password: PASSWORD });
  await walk.settle();
}

async function recordOrders(
  walk: Walk,
  { account_id, visitor }: Customer,
  stripe: FakeStripe,
): Promise<void> {
  const { harness } = walk;
  const order = (fields: Record<string, string>) =>
    visitor.submit('/account/orders', '/account/orders', fields);
  const placed = await order({ pack: 'starter', payment: 'invoice' });
  await walk.settle();
  await visitor.get(placed.location);
  const [first] = await harness.context.accounts.orders.list(account_id);
  await harness.accounts.orders.move(String(first?.order_id), 'paid');
  await walk.settle();
  const { location } = await order({ pack: 'research', payment: 'stripe' });
  await walk.settle();
  if (location.startsWith('/')) await visitor.get(location);
  const [session] = [...stripe.sessions.values()];
  for (const payment_status of ['unpaid', 'paid', 'paid']) {
    const payload = eventText('checkout.session.completed', { ...session, payment_status });
    await deliver(harness.url, payload, { at_ms: harness.clock.ms });
    await walk.settle();
  }
  await deliver(harness.url, '{}', { at_ms: harness.clock.ms, secret: 'whsec_other' });
  await walk.sweep();
}

async function recordMembers(walk: Walk, { visitor }: Customer): Promise<void> {
  const { harness } = walk;
  const invite = (role: string) =>
    walk.mailed(GUEST, () =>
      visitor.submit('/account/members', '/account/members/invite', { email: GUEST, role }),
    );
  const link = await invite('viewer');
  const guest = harness.visitor();
  await guest.submit(link, link, { name: 'Ida', password: PASSWORD });
  await harness.signIn(guest, GUEST);
  await walk.settle();
  await explore({ ...walk.area(guest), left: /sign-out|erase|leave|second-factor|password/ }, ['/account/']);
  await guest.get('/account/members/leave');
  await guest.get(link);
}

async function recordFiles(
  recorder: Recorder,
  { harness }: Walk,
  { account_id, visitor }: Customer,
): Promise<void> {
  const pdf = await visitor.download('/account/invoices/2026-000001/pdf');
  recorder.add('invoice', (await extractText(new Uint8Array(pdf), { mergePages: true })).text);
  const [request] = await harness.context.requests.listOf(account_id);
  const zip = await visitor.download(`/account/data/${request?.request_id}/download`);
  recorder.add('export', JSON.stringify(await readExport(zip), null, 1));
}

async function recordSecondFactor(walk: Walk): Promise<void> {
  const { harness } = walk;
  const { visitor, email } = await harness.customer('Fay');
  const [factor, setUp, code] = [
    '/account/second-factor',
    '/account/second-factor/set-up',
    '/account/sign-in/code',
  ];
  await visitor.get(factor);
  const { html } = await visitor.get(setUp);
  const secret = /name="secret" value="([^"]+)"/.exec(html)?.[1] ?? '';
  const next = (): string => {
    harness.clock.ms += STEP_MS;
    return codeAt(secret, harness.clock.ms);
  };
  await visitor.submit(setUp, setUp, { secret, code: '000000', password: PASSWORD });
  await walk.mailed(email, () => visitor.submit(setUp, setUp, { secret, code: next(), password: PASSWORD }));
  await visitor.get(factor);
  const other = harness.visitor();
  await harness.signIn(other, email);
  await other.submit(code, code, { code: next() });
  await other.get('/account/');
  await explore({ ...walk.area(visitor), left: /^(?!.*second-factor)/, typed: () => ({ code: next() }) }, [
    factor,
  ]);
}

async function recordAddressChange(walk: Walk): Promise<void> {
  const { harness } = walk;
  const { visitor, email } = await harness.customer('Hal');
  const fresh = 'hal@elsewhere.example.org';
  const fields = { email: fresh, password: PASSWORD };
  const link = await walk.mailed(fresh, () =>
    visitor.submit('/account/profile', '/account/profile/email', fields),
  );
  const undo = await walk.mailed(email, () => visitor.submit(link, link, {}));
  await visitor.submit(undo, undo, {});
  await walk.settle();
  const reset = await walk.mailed(email, () =>
    visitor.submit('/account/forgot', '/account/forgot', { email }),
  );
  await visitor.submit(reset, reset, { password: 'short' });
  await visitor.submit(reset, reset, { password: PASSWORD });
  const page = '/account/sign-in-link';
  const opened = await walk.mailed(email, () => visitor.submit(page, page, { email }));
  await visitor.submit(opened, opened, {});
  await visitor.submit('/account/', '/account/password', {
    current: PASSWORD,
    password: 'another horse battery',
  });
  await visitor.submit('/account/', '/account/sign-out', {});
  await walk.settle();
}

async function recordLeaving(walk: Walk): Promise<void> {
  const { harness } = walk;
  for (const path of ['/account/close', '/account/data/erasure', '/account/profile/erase']) {
    const { visitor, account_id } = await harness.customer('Cleo');
    if (path === '/account/close') await harness.accounts.suspend(account_id);
    await visitor.get('/account/');
    if (path === '/account/close') await harness.accounts.restore(account_id);
    await visitor.submit(path, path, { password: 'wrong' });
    await visitor.submit(path, path, { password: PASSWORD });
    await walk.sweep();
    for (const page of ['/account/', '/account/data', '/account/accounts', '/account/closed'])
      await visitor.get(page);
  }
  await harness.handlers.erase({});
  await walk.settle();
}

async function recordOwnership(walk: Walk): Promise<void> {
  const { harness } = walk;
  const { account_id, person_id: by, visitor } = await harness.customer('Gus');
  const { person_id, email } = await harness.customer('Hal');
  const { invitation_id } = await harness.context.members.invite(account_id, { email, role: 'viewer', by });
  await harness.context.members.accept(account_id, invitation_id, person_id);
  const move = `/account/members/${person_id}/ownership`;
  await visitor.submit(move, move, { password: 'wrong' });
  await visitor.submit(move, move, { password: PASSWORD });
  await visitor.get('/account/members');
  await walk.sweep();
}

/** Every mail that there is. */
export async function recordMails(recorder: Recorder): Promise<void> {
  recorder.watch('mails');
  recorder.addMails(Object.values(MAILS).flatMap((mails) => mails.map(({ mail }) => mail)));
}
