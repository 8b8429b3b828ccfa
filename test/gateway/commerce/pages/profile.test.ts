/** The profile of a person: name, a new address that both addresses are told of, and the sessions that are open. */
import { describe, expect, it } from 'vitest';
import { wordsOf } from '../../../admin/harness.ts';
import { type Customer, PASSWORD, useAccountPages } from './harness.ts';

const PROFILE = '/account/profile';
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

let addresses = 0;
const harness = await useAccountPages();

const freshEmail = (): string => `new-${addresses++}@example.org`;

/** Asks for a new address. @returns the path of the mailed link */
async function ask({ visitor }: Customer, email: string): Promise<string> {
  const mail = harness.mailbox.next(email);
  const page = await visitor.submit(PROFILE, `${PROFILE}/email`, { email, password: PASSWORD });
  expect(page.location).toBe(PROFILE);
  return harness.pathOf((await mail).link);
}

it('changes the name of the person, and leaves the one of the account', async () => {
  const ann = await harness.customer('Ann');
  await ann.visitor.submit(PROFILE, `${PROFILE}/name`, { name: 'Anna <b>' });
  expect((await ann.visitor.get(PROFILE)).html).toContain('value="Anna &lt;b&gt;"');
  expect((await harness.accounts.get(ann.account_id)).name).toBe('Ann');
});

describe('a new address', () => {
  it('counts once its link is opened; both addresses are told, the account follows and sessions end', async () => {
    const ann = await harness.customer();
    const to = freshEmail();
    const link = await ask(ann, to);
    expect((await harness.signIn(harness.visitor(), to)).status).toBe(401);
    const told = [harness.mailbox.next(ann.email), harness.mailbox.next(to)];
    expect((await harness.visitor().submit(link, link, {})).status).toBe(200);
    const mails = await Promise.all(told);
    expect(mails.map(({ subject }) => subject)).toEqual(Array(2).fill('Your e-mail address was changed'));
    expect(mails.map((mail) => mail.link !== null)).toEqual([true, false]);
    expect((await ann.visitor.get('/account/')).status).toBe(401);
    expect((await harness.signIn(harness.visitor(), ann.email)).status).toBe(401);
    expect((await harness.signIn(harness.visitor(), to)).status).toBe(303);
    expect((await harness.accounts.findByEmail(to)).account_id).toBe(ann.account_id);
    await expect(harness.accounts.findByEmail(ann.email)).rejects.toMatchObject({ code: 'account_unknown' });
    expect((await harness.visitor().get(link)).status).toBe(410);
  });

  it('is taken back by the link to the former address, and ends what was mailed before', async () => {
    const ann = await harness.customer();
    const reset = harness.mailbox.next(ann.email);
    await harness.handlers.reset({ email: ann.email });
    const earlier = harness.pathOf((await reset).link);
    const to = freshEmail();
    const link = await ask(ann, to);
    const mail = harness.mailbox.next(ann.email);
    await harness.visitor().submit(link, link, {});
    const undo = harness.pathOf((await mail).link);
    expect((await harness.visitor().get(earlier)).status).toBe(410);
    const back = harness.mailbox.next(ann.email);
    expect(wordsOf(await harness.visitor().submit(undo, undo, {}))).toContain('choose a new one');
    await back;
    expect((await harness.signIn(harness.visitor(), ann.email)).status).toBe(303);
    expect((await harness.signIn(harness.visitor(), to)).status).toBe(401);
    expect((await harness.accounts.get(ann.account_id)).email).toBe(ann.email);
  });

  it('needs the password, and is never one that somebody else has, whenever that happens', async () => {
    const [ann, bob] = [await harness.customer(), await harness.customer()];
    const send = (email: string, password: string) =>
      ann.visitor.submit(PROFILE, `${PROFILE}/email`, { email, password });
    expect((await send('nonsense', PASSWORD)).status).toBe(422);
    expect((await send(freshEmail(), 'wrong')).status).toBe(422);
    const mail = harness.mailbox.next(bob.email);
    expect((await send(bob.email, PASSWORD)).location).toBe(PROFILE);
    expect((await mail).subject).toBe('You already have an account');
    const to = freshEmail();
    const link = await ask(ann, to);
    await harness.accounts.create({ email: to, verified: true, by: 'test' });
    expect((await harness.visitor().get(link)).status).toBe(410);
    expect((await harness.context.persons.get(ann.person_id))?.email).toBe(ann.email);
  });
});

it('sessions are listed with browser and times, and ended one by one or all but this', async () => {
  const ann = await harness.customer();
  const others = [harness.visitor(), harness.visitor()] as const;
  for (const other of others) {
    other.headers['user-agent'] = FIREFOX;
    await harness.signIn(other, ann.email);
  }
  const page = await ann.visitor.get(PROFILE);
  expect(wordsOf(page).match(/Firefox on Linux/g)?.length).toBeGreaterThanOrEqual(2);
  expect(wordsOf(page)).toContain('this one');
  const [digest = ''] = [...page.html.matchAll(/sessions\/([0-9a-f]{64})\/end/g)].map(([, found]) => found);
  const bob = await harness.customer();
  await bob.visitor.submit(PROFILE, `${PROFILE}/sessions/${digest}/end`, {});
  const open = async () => Promise.all(others.map(async (other) => (await other.get('/account/')).status));
  expect(await open()).toEqual([200, 200]);
  await ann.visitor.submit(PROFILE, `${PROFILE}/sessions/${digest}/end`, {});
  expect((await open()).sort()).toEqual([200, 401]);
  await ann.visitor.submit(PROFILE, `${PROFILE}/sessions/end-others`, {});
  expect(await open()).toEqual([401, 401]);
  expect(wordsOf(await ann.visitor.get(PROFILE))).toContain('All other sessions have ended.');
});
