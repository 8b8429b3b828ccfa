/** The pages on which owners manage operators, and the links by which operators choose a password. */
import { beforeEach, describe, expect, it } from 'vitest';
import { addressDigest, DAY_MS } from '../../data/schema/redis-keys.ts';
import { Mailbox } from '../gateway/commerce/pages/mailbox.ts';
import { flushRedis } from '../redis.ts';
import { PASSWORD, startAdmin, useAdmin, type Visitor, wordsOf } from './harness.ts';

const ANN = 'ann@example.org';
const ANN_PATH = `/admin/operators/${addressDigest(ANN)}`;
const OWNER = 'owner@example.org';
const OWNER_PATH = `/admin/operators/${addressDigest(OWNER)}`;
const NEW_PASSWORD = 'another horse battery staple';

const pathOf = (link: string): string => new URL(link).pathname;

const mailbox = new Mailbox();
const service = await useAdmin({}, { mailer: mailbox });

describe('owners', () => {
  let owner: Visitor;
  beforeEach(async () => {
    mailbox.failure = null;
    await flushRedis(service.client);
    owner = await service.signedIn('owner');
  });

  const invite = (email = ANN, role = 'operator') =>
    owner.submit('/admin/operators', '/admin/operators/invite', { email, role });

  /** @returns the path of the mailed link */
  async function inviteAnn(role = 'operator'): Promise<string> {
    const mail = mailbox.next(ANN);
    expect(await invite(ANN, role)).toMatchObject({ status: 303, location: ANN_PATH });
    return pathOf((await mail).link ?? '');
  }

  const choose = (path: string, password = NEW_PASSWORD, visitor = service.visitor()) =>
    visitor.submit(path, path, { password });

  const signIn = async (password: string) => {
    const visitor = service.visitor();
    return { visitor, status: (await visitor.signIn(ANN, password)).status };
  };

  it('invite an operator, who chooses a password by the mailed link, once', async () => {
    const path = await inviteAnn('viewer');
    expect(mailbox.to(ANN).at(-1)?.text).toContain(`${OWNER} invites you`);
    expect(wordsOf(await owner.get('/admin/operators'))).toContain(`${ANN} viewer invited`);
    expect((await choose(path, 'short')).status).toBe(422);
    expect(wordsOf(await choose(path))).toContain('Your password is set');
    const { visitor, status } = await signIn(NEW_PASSWORD);
    expect(status).toBe(303);
    expect((await visitor.get('/admin/operators')).status).toBe(200);
    expect((await service.visitor().get(path)).status).toBe(410);
    expect(wordsOf(await owner.get('/admin/operators'))).toContain(`${ANN} viewer active`);
    const log = await service.audit.list();
    expect(
      log.filter(({ subject }) => subject === `operator ${ANN}`).map(({ by, action }) => [by, action]),
    ).toEqual([
      [ANN, 'operator.sign_in'],
      [ANN, 'operator.password'],
      [OWNER, 'operator.invite'],
    ]);
  });

  it('cannot invite the same address twice, nor what is no address', async () => {
    await inviteAnn();
    expect(await invite()).toMatchObject({ status: 409 });
    const refused = await invite('ann at example');
    expect(refused.status).toBe(422);
    expect(wordsOf(refused)).toContain('is not an e-mail address');
    expect((await invite('ben@example.org', 'king')).status).toBe(422);
  });

  it.each([
    ['removed', () => owner.submit(`${ANN_PATH}/remove`, `${ANN_PATH}/remove`, {})],
    [
      'signed out by an owner',
      () => owner.submit(`${ANN_PATH}/end-sessions`, `${ANN_PATH}/end-sessions`, {}),
    ],
    ['sent another invitation', () => owner.submit(ANN_PATH, `${ANN_PATH}/link`, {})],
  ])('make the link of an invitation invalid when its operator is %s', async (_, change) => {
    const path = await inviteAnn();
    expect((await service.visitor().get(path)).status).toBe(200);
    expect((await change()).status).toBe(303);
    expect((await service.visitor().get(path)).status).toBe(410);
  });

  it('invite for seven days, and again after that', async () => {
    const path = await inviteAnn();
    service.clock.ms += 7 * DAY_MS + 1;
    expect((await service.visitor().get(path)).status).toBe(410);
    owner = await service.signedIn('owner');
    const mail = mailbox.next(ANN);
    await owner.submit(ANN_PATH, `${ANN_PATH}/link`, {});
    expect((await choose(pathOf((await mail).link ?? ''))).status).toBe(200);
  });

  it('are told when the mail server refuses, and the invitation stands', async () => {
    mailbox.failure = new Error('550 no');
    expect((await invite()).status).toBe(503);
    mailbox.failure = null;
    expect(wordsOf(await owner.get('/admin/operators'))).toContain(`${ANN} operator invited`);
  });

  it('send a link for a new password, and the old one works until it is used', async () => {
    await service.operators.put(ANN, 'operator', PASSWORD);
    const { visitor } = await signIn(PASSWORD);
    const mail = mailbox.next(ANN);
    await owner.submit(ANN_PATH, `${ANN_PATH}/link`, {});
    const path = pathOf((await mail).link ?? '');
    expect((await visitor.get('/admin/')).status).toBe(200);
    await choose(path);
    expect((await visitor.get('/admin/')).status).toBe(401);
    expect([(await signIn(PASSWORD)).status, (await signIn(NEW_PASSWORD)).status]).toEqual([401, 303]);
  });

  it('change a role, which holds from the next request on', async () => {
    await service.operators.put(ANN, 'viewer', PASSWORD);
    const { visitor } = await signIn(PASSWORD);
    expect((await visitor.get(`${OWNER_PATH}/remove`)).status).toBe(403);
    const path = `${ANN_PATH}/role`;
    expect(wordsOf(await owner.get(`${path}?role=owner`))).toContain('viewer → owner');
    await owner.submit(`${path}?role=owner`, path, { role: 'owner' });
    expect((await visitor.get(`${OWNER_PATH}/remove`)).status).toBe(200);
    await owner.submit(`${path}?role=operator`, path, { role: 'operator' });
    expect((await visitor.get(`${OWNER_PATH}/remove`)).status).toBe(403);
  });

  it('cannot leave the area without an owner', async () => {
    const demotion = `${OWNER_PATH}/role`;
    const refused = [
      await owner.submit(`${demotion}?role=viewer`, demotion, { role: 'viewer' }),
      await owner.submit(`${OWNER_PATH}/remove`, `${OWNER_PATH}/remove`, {}),
    ];
    for (const page of refused) {
      expect(page.status).toBe(409);
      expect(wordsOf(page)).toContain('is the last owner. Make somebody else owner first.');
    }
    expect((await owner.get(`${OWNER_PATH}/remove`)).status).toBe(200);
  });

  it('alone can manage: others see the list and no form', async () => {
    for (const role of ['viewer', 'operator'] as const) {
      const visitor = await service.signedIn(role);
      const { html } = await visitor.get('/admin/operators');
      expect(html).toContain(OWNER);
      expect(html).not.toContain('/admin/operators/invite');
      expect((await visitor.get(OWNER_PATH)).html).not.toContain('/remove');
      const refused = await visitor.submit('/admin/operators', '/admin/operators/invite', {
        email: ANN,
        role: 'owner',
      });
      expect(refused.status).toBe(403);
    }
  });
});

it('without a mail server the link is shown once', async () => {
  await using service = await startAdmin();
  const owner = await service.signedIn('owner');
  const page = await owner.submit('/admin/operators', '/admin/operators/invite', {
    email: ANN,
    role: 'operator',
  });
  const [, link = ''] = /<code>([^<]+)<\/code>/.exec(page.html) ?? [];
  expect(link).toMatch(`${service.url}/admin/password/`);
  expect((await owner.get(ANN_PATH)).html).not.toContain('/admin/password/');
  const visitor = service.visitor();
  await visitor.submit(pathOf(link), pathOf(link), { password: NEW_PASSWORD });
  expect((await visitor.signIn(ANN, NEW_PASSWORD)).status).toBe(303);
});
