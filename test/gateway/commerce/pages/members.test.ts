/** Members over the pages: mailed invitations, roles that change under open forms, switching accounts, the ownership. */
import { describe, expect, it } from 'vitest';
import { hiddenTokens, type Visitor, wordsOf } from '../../../admin/harness.ts';
import { PASSWORD, useAccountPages } from './harness.ts';

const MEMBERS = '/account/members';

let people = 0;
const harness = await useAccountPages();

const freshEmail = (): string => `guest-${people++}@example.org`;

describe('an invitation', () => {
  it('lets a new person choose a password, and see the account in the given role', async () => {
    const ann = await harness.customer('Ann’s team');
    const { email, visitor, person_id } = await harness.guest(ann, 'developer');
    expect(wordsOf(await visitor.get('/account/'))).toContain('Ann’s team');
    expect(wordsOf(await ann.visitor.get(MEMBERS))).toContain(email);
    const { key } = await harness.makeKey({ ...ann, visitor });
    expect((await harness.call(key, '/v1/ping')).status).toBe(200);
    expect(
      (await visitor.submit(MEMBERS, `${MEMBERS}/invite`, { email: 'x@example.org', role: 'viewer' })).status,
    ).toBe(403);
    expect(wordsOf(await ann.visitor.get('/account/keys'))).toContain(`by ${email}`);
    const [entry] = await harness.context.audit.list({ subject: `account ${ann.account_id}` });
    expect(entry).toMatchObject({ action: 'key.create', by: `person ${person_id}` });
  });

  it('asks somebody who has an account to sign in, and is for the invited address only', async () => {
    const ann = await harness.customer('Ann');
    const bob = await harness.customer('Bob');
    const eve = await harness.customer('Eve');
    const link = await harness.invite(ann, bob.email, 'billing');
    const stranger = harness.visitor();
    expect(wordsOf(await stranger.get(link))).toContain('Sign in to accept');
    expect((await stranger.submit(link, link, { password: PASSWORD })).status).toBe(403);
    expect((await eve.visitor.submit(link, link, {})).status).toBe(403);
    expect((await bob.visitor.submit(link, link, {})).location).toBe('/account/');
    expect(wordsOf(await bob.visitor.get('/account/'))).toContain('You are a member of Ann now.');
    expect((await bob.visitor.get(link)).status).toBe(410);
  });

  it('is void once it is withdrawn, has expired, or its sender is no longer the owner', async () => {
    const ann = await harness.customer('Ann');
    const [first, second] = [freshEmail(), freshEmail()];
    const link = await harness.invite(ann, first, 'viewer');
    const [invitation] = await harness.context.members.invitations(ann.account_id);
    await ann.visitor.submit(MEMBERS, `${MEMBERS}/invitations/${invitation?.invitation_id}/withdraw`, {});
    expect((await harness.visitor().get(link)).status).toBe(410);
    const later = await harness.invite(ann, second, 'viewer');
    const page = await harness.visitor().get(later);
    const guest = await harness.guest(ann, 'viewer');
    await harness.context.members.moveOwnership(ann.account_id, { to: guest, by: ann.person_id });
    const visitor = harness.visitor();
    const answer = await visitor.submit('/account/sign-up', later, { password: PASSWORD });
    expect([page.status, answer.status]).toEqual([200, 410]);
    expect(await harness.context.persons.findByEmail(second)).toBeNull();
  });
});

it('a role that changes removing ends access, also to a page that was just shown, and asks about the keys', async () => {
  const ann = await harness.customer('Ann');
  for (const [keys, status] of [
    ['revoke', 401],
    ['keep', 200],
  ] as const) {
    const guest = await harness.guest(ann, 'developer');
    const { key } = await harness.makeKey({ ...ann, visitor: guest.visitor });
    const form = hiddenTokens(await guest.visitor.get('/account/keys'));
    const path = `${MEMBERS}/${guest.person_id}/remove`;
    expect(wordsOf(await ann.visitor.get(path))).toContain(
      '1 active key and 0 feed links made by this person',
    );
    expect((await ann.visitor.submit(path, path, { keys })).status).toBe(303);
    expect((await harness.call(key, '/v1/ping')).status).toBe(status);
    expect((await guest.visitor.get('/account/keys')).location).toBe('/account/accounts');
    expect((await guest.visitor.post('/account/keys', form)).status).toBe(403);
    expect(wordsOf(await guest.visitor.get('/account/accounts'))).toContain('You are a member of no account');
    expect(JSON.parse((await guest.visitor.get('/account/summary')).html)).toEqual({});
  }
});

describe('somebody in several accounts', () => {
  it('switches between them; a form of the one is refused in the other', async () => {
    const ann = await harness.customer('Ann');
    const bob = await harness.customer('Bob');
    const link = await harness.invite(ann, bob.email, 'developer');
    const own = hiddenTokens(await bob.visitor.get('/account/keys'));
    await bob.visitor.submit(link, link, {});
    expect((await bob.visitor.post('/account/keys', { ...own, label: 'mine', expires: '' })).status).toBe(
      403,
    );
    const to = (account_id: string) =>
      bob.visitor.submit('/account/accounts', '/account/accounts/switch', { account_id });
    expect((await to(bob.account_id)).location).toBe('/account/');
    expect(wordsOf(await bob.visitor.get('/account/'))).toContain('Bob');
    expect((await to((await harness.customer('Eve')).account_id)).status).toBe(404);
    expect((await bob.visitor.post('/account/keys', { ...own, label: 'mine', expires: '' })).status).toBe(
      200,
    );
    expect(await harness.accounts.keys.list(ann.account_id)).toEqual([]);
  });

  it('opens an account of her own after an invitation, once', async () => {
    const ann = await harness.customer('Ann');
    const guest = await harness.guest(ann, 'viewer');
    const open = () => guest.visitor.submit('/account/accounts', '/account/accounts/open', {});
    expect((await open()).location).toBe('/account/');
    expect((await open()).status).toBe(409);
    expect((await harness.accounts.findByEmail(guest.email)).credits.balance).toBe(
      harness.settings.FREE_GRANT,
    );
  });
});

describe('the ownership', () => {
  it('of an account that is to be erased stays where it is: an erasure erases the owner too', async () => {
    const ann = await harness.customer('Ann');
    const guest = await harness.guest(ann, 'developer');
    const { members, requests } = harness.context;
    const move = `${MEMBERS}/${guest.person_id}/ownership`;
    const page = await ann.visitor.get(move);
    const { request_id } = await requests.open(ann.account_id, 'erasure');
    expect((await ann.visitor.get(move)).status).toBe(409);
    const sent = await ann.visitor.post(move, { ...hiddenTokens(page), password: PASSWORD });
    expect(sent.status).toBe(409);
    expect(await members.roleOf(ann.account_id, guest.person_id)).toBe('developer');
    await requests.fail(request_id, { by: 'test' });
    expect((await ann.visitor.submit(move, move, { password: PASSWORD })).status).toBe(303);
    expect(await members.roleOf(ann.account_id, guest.person_id)).toBe('owner');
  });

  it('is moved by the owner alone, with the password, and both are told', async () => {
    const ann = await harness.customer('Ann');
    const guest = await harness.guest(ann, 'viewer');
    const { context, mailbox } = harness;
    const move = `${MEMBERS}/${guest.person_id}/ownership`;
    expect((await guest.visitor.submit(MEMBERS, move, { password: PASSWORD })).status).toBe(403);
    expect((await ann.visitor.submit(move, move, { password: 'wrong' })).status).toBe(422);
    expect(await context.members.roleOf(ann.account_id, guest.person_id)).toBe('viewer');
    const subject = /ownership of an account was moved/;
    const mails = [mailbox.next(ann.email, subject), mailbox.next(guest.email, subject)];
    expect((await ann.visitor.submit(move, move, { password: PASSWORD })).location).toBe(MEMBERS);
    expect(await context.members.roleOf(ann.account_id, guest.person_id)).toBe('owner');
    expect(await context.members.roleOf(ann.account_id, ann.person_id)).toBe('developer');
    expect((await ann.visitor.submit(MEMBERS, `${MEMBERS}/name`, { name: 'Mine' })).status).toBe(403);
    expect((await harness.accounts.get(ann.account_id)).email).toBe(guest.email);
    // The former owner is told, even if removed before the mail is sent.
    await context.members.remove(ann.account_id, { person_id: ann.person_id, by: guest.person_id });
    await harness.handlers.sweep({});
    for (const { text } of await Promise.all(mails)) expect(text).toContain(`${guest.email} owns this`);
  });
});

it('a suspended account without an address of ours leads to the page of contact', async () => {
  const ann = await harness.customer('Ann');
  await harness.accounts.suspend(ann.account_id);
  const contact = `${harness.url}/contact`;
  expect((await ann.visitor.get('/account/')).html).toContain(`<a href="${contact}">${contact}</a>`);
});

it('a member erases the profile, which leaves every account; the owner of one does not', async () => {
  const ann = await harness.customer('Ann');
  const guest = await harness.guest(ann, 'developer');
  const erase = '/account/profile/erase';
  const send = ({ visitor }: { visitor: Visitor }, password: string) =>
    visitor.submit(erase, erase, { password });
  expect((await ann.visitor.get(erase)).status).toBe(409);
  expect((await send(guest, 'wrong')).status).toBe(422);
  expect((await send(guest, PASSWORD)).location).toBe('/account/sign-in');
  expect(await harness.context.persons.findByEmail(guest.email)).toBeNull();
  expect((await guest.visitor.get('/account/')).status).toBe(401);
  expect((await harness.signIn(harness.visitor(), guest.email)).status).toBe(401);
  expect(await harness.context.members.list(ann.account_id)).toHaveLength(1);
});

it('an erasure of the account lets its members go, erases its owner and nobody else', async () => {
  const ann = await harness.customer('Ann');
  const guest = await harness.guest(ann, 'viewer');
  await harness.erase(ann.account_id);
  expect(await harness.context.persons.get(ann.person_id)).toBeNull();
  expect((await harness.context.persons.findByEmail(guest.email))?.person_id).toBe(guest.person_id);
  expect((await ann.visitor.get('/account/')).status).toBe(401);
  expect((await guest.visitor.get('/account/')).location).toBe('/account/accounts');
  expect(await harness.context.members.list(ann.account_id)).toEqual([]);
  const names = await harness.allKeys();
  expect(names.filter((name) => name.includes(ann.account_id) && /members|invitations/.test(name))).toEqual(
    [],
  );
});
