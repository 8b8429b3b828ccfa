/** The second factor of a customer's member, cleared by an operator: with a reason, audited, and told to the person. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { codeAt } from '../gateway/commerce/authenticator.ts';
import { startAccountPages } from '../gateway/commerce/pages/harness.ts';
import { startRedis } from '../redis.ts';
import { startAdminOn, wordsOf } from './harness.ts';

const REASON = 'The phone with the app is lost; identity shown by an invoice.';

const redis = await startRedis();
const pages = await startAccountPages({ redis });
const area = await startAdminOn(redis);
afterAll(async () => {
  await pages.stop();
  await area.stop();
});

describe('the second factor of a member', () => {
  let customer: Awaited<ReturnType<typeof pages.customer>>;
  const { secondFactor } = pages.context.site;
  beforeEach(async () => {
    customer = await pages.customer();
    const { secret } = secondFactor.propose({ issuer: 'Almanac', label: customer.email });
    const code = codeAt(secret, pages.clock.ms);
    expect(await secondFactor.turnOn(customer.person_id, { secret, code })).not.toBeNull();
    await pages.handlers.sweep({});
  });
  const accountPath = () => `/admin/users/${customer.account_id}`;
  const pathOf = (person = customer.person_id) => `${accountPath()}/members/${person}/clear-second-factor`;

  it('is cleared by an operator, and the person is told so once, with the reason', async () => {
    const operator = await area.signedIn();
    expect((await operator.get(accountPath())).html).toContain(pathOf());
    expect(wordsOf(await operator.get(pathOf()))).toContain('whoever knows the password gets in');
    const page = await operator.submit('/admin/', pathOf(), { reason: REASON });
    expect(page.location).toBe(accountPath());
    expect(await secondFactor.state(customer.person_id)).toMatchObject({
      isOn: false,
      recovery_codes_left: 0,
    });
    const arrives = pages.mailbox.next(customer.email);
    await pages.handlers.sweep({});
    const { subject, text } = await arrives;
    expect(subject).toBe('Your second factor was turned off for you');
    expect(text).toContain(REASON);
    expect(text).not.toContain('operator@example.org');
    const told = pages.mailbox.to(customer.email).length;
    await pages.handlers.sweep({});
    expect(pages.mailbox.to(customer.email)).toHaveLength(told);
    const [entry] = await area.audit.list({ subject: `account ${customer.account_id}`, limit: 1 });
    expect(entry).toMatchObject({
      ...{ action: 'account.second_factor', by: 'operator@example.org', reason: REASON },
      after: { person_id: customer.person_id, second_factor: 'cleared' },
    });
  });

  it('is cleared of members of that account alone, with a reason, where it is on, and by nobody who only reads', async () => {
    const operator = await area.signedIn();
    const other = await pages.customer();
    expect((await operator.get(pathOf(other.person_id))).status).toBe(404);
    expect((await operator.submit('/admin/', pathOf(), { reason: '' })).status).toBe(422);
    const viewer = await area.signedIn('viewer');
    expect((await viewer.get(accountPath())).html).not.toContain('clear-second-factor');
    expect((await viewer.submit('/admin/', pathOf(), { reason: REASON })).status).toBe(403);
    expect(await secondFactor.isOn(customer.person_id)).toBe(true);
    const again = await area.signedIn();
    await again.submit('/admin/', pathOf(), { reason: REASON });
    expect((await again.submit('/admin/', pathOf(), { reason: REASON })).status).toBe(409);
  });
});
