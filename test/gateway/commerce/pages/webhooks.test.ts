/** The pages of webhooks: added, changed, rotated, tested, sent again and removed, by those who may. */
import { expect, it } from 'vitest';
import { redisKeys } from '../../../../data/schema/redis-keys.ts';
import { accountSubject } from '../../../../gateway/commerce/history/audit-log.ts';
import { wordsOf } from '../../../admin/harness.ts';
import { stopAfterTests } from '../../../after-tests.ts';
import { answers, isSignedWith, startReceiver } from '../webhooks/receiver.ts';
import { type Customer, useAccountPages } from './harness.ts';

const SECRET = /whsec_[A-Za-z0-9+/=]{44}/;
const PAGE = '/account/webhooks';

const harness = await useAccountPages({ settings: { WEBHOOK_PRIVATE_TARGETS: 'true' } });
// Verifiers compare the time of a signature with their own clock.
harness.clock.ms = Date.now();
const receiver = await stopAfterTests(startReceiver());
const ann = await harness.customer('Ann');

const fields = (url: string, types: readonly string[]) => ({
  url,
  ...Object.fromEntries(types.map((type) => [`type:${type}`, '1'])),
});
const add = (customer: Customer, url: string, ...types: string[]) =>
  customer.visitor.submit(PAGE, PAGE, fields(url, types));

const only = async ({ account_id }: Customer) => {
  const [endpoint] = await harness.context.webhooks.endpoints.list(account_id);
  if (!endpoint) throw new Error('no webhook');
  return { ...endpoint, path: `${PAGE}/${endpoint.endpoint_id}` };
};

const logged = async ({ account_id }: Customer) =>
  (await harness.context.webhooks.deliveries.list(account_id))[0];

it('a webhook is added, tested, failing, sent again, rotated, changed and removed, and all that is audited', async () => {
  const created = await add(ann, `${receiver.url}/hook`, 'key.created');
  const [secret = ''] = SECRET.exec(created.html) ?? [];
  const { path, endpoint_id, by } = await only(ann);
  expect(by).toBe(ann.person_id);
  for (const shown of [PAGE, path]) expect((await ann.visitor.get(shown)).html).not.toMatch(/whsec_/);

  receiver.respond = answers(500, 'out of order');
  expect((await ann.visitor.submit(path, `${path}/test`, {})).status).toBe(303);
  await expect.poll(async () => (await logged(ann))?.attempts.length).toBe(1);
  const { message_id = '' } = (await logged(ann)) ?? {};
  const words = wordsOf(await ann.visitor.get(`${path}/deliveries/${message_id}`));
  for (const shown of ['waiting', '500', 'out of order', 'This is a test event.'])
    expect(words).toContain(shown);
  receiver.respond = answers(200);
  const replay = `${path}/deliveries/${message_id}`;
  expect((await ann.visitor.submit(replay, `${replay}/replay`, {})).status).toBe(303);
  await expect.poll(async () => (await logged(ann))?.state).toBe('delivered');
  expect(receiver.received.map((webhook) => isSignedWith(secret, webhook))).toEqual([true, true]);

  const rotated = await ann.visitor.submit(path, `${path}/rotate`, {});
  expect(SECRET.exec(rotated.html)?.[0]).not.toBe(secret);
  const changed = fields(`${receiver.url}/other`, ['order.paid', 'credits.low']);
  expect((await ann.visitor.submit(path, `${path}/change`, changed)).status).toBe(303);
  expect(await only(ann)).toMatchObject({ url: changed.url, types: ['credits.low', 'order.paid'] });
  expect((await ann.visitor.submit(`${path}/remove`, `${path}/remove`, {})).status).toBe(303);
  expect(wordsOf(await ann.visitor.get(PAGE))).toContain('No webhooks yet.');
  expect((await ann.visitor.get(path)).status).toBe(404);

  const entries = await harness.context.audit.list({ subject: accountSubject(ann.account_id) });
  const { host } = new URL(receiver.url);
  expect(entries.filter(({ action }) => action.startsWith('webhook.'))).toMatchObject([
    { action: 'webhook.remove', before: { endpoint_id, host, types: 'credits.low order.paid' } },
    { action: 'webhook.change', before: { types: 'key.created' }, after: { endpoint_id, host } },
    { action: 'webhook.rotate' },
    { action: 'webhook.create', after: { endpoint_id, host, types: 'key.created' } },
  ]);
});

it.each([
  ['ftp://example.org/', 'key.created', 'https:// address'],
  ['example.org', 'key.created', 'https:// address'],
  ['https://ann:secret@example.org/', 'key.created', 'neither user nor password'],
  ['https://example.org:25/', 'key.created', 'The URL has port 25'],
  ['https://example.org/#part', 'key.created', 'a fragment (#)'],
  ['https://example.org/', 'key.stolen', 'at least one event type'],
  ['https://example.org/', 'test', 'at least one event type'],
])('%s with events "%s" is refused, naming what was expected', async (url, types, message) => {
  const page = await add(ann, url, types);
  expect(page.status).toBe(422);
  expect(page.html).toContain(message);
  expect(page.html).toContain(`value="${url}"`);
  expect(await harness.context.webhooks.endpoints.list(ann.account_id)).toEqual([]);
});

it('an account has ten at most, and its members of other roles change none', async () => {
  const eve = await harness.customer('Eve');
  const { visitor, account_id, person_id } = eve;
  for (let number = 0; number < 11; number++) {
    const { status, html } = await add(eve, `https://example.org/${number}`, 'key.created');
    expect([number, status]).toEqual([number, number < 10 ? 200 : 409]);
    if (number === 10) expect(html).toContain('at most 10 webhooks');
  }
  const { path } = await only(eve);
  expect((await visitor.get(`${path}/deliveries/msg_none`)).status).toBe(404);
  expect((await ann.visitor.get(path)).status).toBe(404);
  await harness.redis.hset(redisKeys.members(account_id), `${person_id}:role`, 'billing');
  const seen = await visitor.get(path);
  expect([seen.status, seen.html.includes('Rotate secret')]).toEqual([200, false]);
});

it('test events by hand are slowed down', async () => {
  const zoe = await harness.customer('Zoe');
  await add(zoe, `${receiver.url}/often`, 'key.created');
  const { path } = await only(zoe);
  const send = () => zoe.visitor.submit(path, `${path}/test`, {});
  const statuses: number[] = [];
  for (let count = 0; count < 31; count++) statuses.push((await send()).status);
  expect(statuses.indexOf(429)).toBe(30);
});

it('the owner is told once by mail when an endpoint is gone', async () => {
  const kim = await harness.customer('Kim');
  await add(kim, `${receiver.url}/gone`, 'key.created');
  const { path } = await only(kim);
  receiver.respond = answers(410);
  await harness.accounts.keys.mint(kim.account_id, { label: 'one' });
  await harness.handlers.sweep({});
  await expect.poll(async () => (await only(kim)).state).toBe('disabled');
  const mail = harness.mailbox.next(kim.email);
  for (let repeat = 0; repeat < 2; repeat++) await harness.handlers.sweep({});
  expect((await mail).link).toBe(harness.url + path);
  expect((await mail).text).toContain(`${receiver.url}/gone`);
  await harness.handlers.sweep({});
  const told = harness.mailbox.to(kim.email).filter(({ subject }) => subject.includes('webhook'));
  expect(told.length).toBe(1);
  expect(wordsOf(await kim.visitor.get(path))).toContain('Saving it enables it again.');
  expect((await kim.visitor.submit(path, `${path}/test`, {})).status).toBe(409);
});
