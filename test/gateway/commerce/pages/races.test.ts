/** Races in random order, on every kind of Redis: the ledger stays consistent whatever comes first. */
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import type { Discrepancy } from '../../../../admin/reconcile/compare.ts';
import { Reconciler } from '../../../../admin/reconcile/reconciler.ts';
import { redisKeys } from '../../../../data/schema/redis-keys.ts';
import { founderOf } from '../../../../gateway/commerce/accounts/person-store.ts';
import { tokenOf } from '../../../admin/harness.ts';
import { silentLog } from '../../../redis.ts';
import { booksOf } from '../../api/metering/harness.ts';
import { DEPLOYMENTS, useDeployment } from './deployments.ts';
import { deliver, eventText, stripeSettings, useFakeStripe } from './fake-stripe.ts';
import type { AccountPagesHarness } from './harness.ts';

const stripe = await useFakeStripe();
let harness: AccountPagesHarness;

let people = 0;
const freshEmail = (): string => `racer-${people++}@example.org`;

/** Redis round trips by which each task is delayed. */
const lags = fc.array(fc.nat(40), { minLength: 8, maxLength: 8 });

/** Starts tasks in the order that the scheduler picks, some while others are running. */
async function race<T>(s: fc.Scheduler, lag: number[], works: (() => Promise<T>)[]): Promise<T[]> {
  const started = works.map(async (work, index) => {
    await s.schedule(Promise.resolve());
    for (let trip = 0; trip < (lag[index] ?? 0); trip++) await harness.redis.exists('nothing');
    return work();
  });
  await s.waitAll();
  return Promise.all(started);
}

const expectConsistentLedger = async (account_id: string): Promise<void> => {
  const books = await booksOf({ redis: harness.redis, store: harness.accounts }, account_id);
  expect(books.ledger).toBe(books.balance);
  expect(books.granted - books.spent).toBe(books.balance);
};

describe.each(DEPLOYMENTS)('races on $name', ({ numRuns, open }) => {
  useDeployment(open, { ...stripeSettings(stripe), FREE_GRANT: '700' }, (opened) => {
    harness = opened;
  });

  it('confirming twice, from one link or two, creates one account and grants once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), lags, fc.integer({ min: 1, max: 3 }), async (s, lag, links) => {
        const email = freshEmail();
        const sign_up = { email, name: '' };
        const tokens = await Promise.all(
          Array.from({ length: links }, async () => {
            const link = await harness.linkMailed(email, () => harness.handlers['sign-up'](sign_up));
            return link.split('/').at(-1) ?? '';
          }),
        );
        const works = [...tokens, ...tokens].map(
          (token, index) => () =>
            harness.context.onboarding.confirmSignUp(token, `scrypt$1$1$1$a$${index}`, '192.0.2.1'),
        );
        const outcomes = await race(s, lag, works);
        const confirmed = outcomes.filter((account) => account !== null);
        expect(confirmed.length).toBeGreaterThanOrEqual(1);
        expect(confirmed.length).toBeLessThanOrEqual(links);
        const { account_id, credits } = await harness.accounts.findByEmail(email);
        expect(credits.balance).toBe(700);
        expect(new Set(outcomes.flatMap((opened) => opened?.account.account_id ?? []))).toEqual(
          new Set([account_id]),
        );
        await expectConsistentLedger(account_id);
      }),
      { numRuns },
    );
  });

  it('repeated webhooks and an operator marking the order paid grant the credits once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), lags, async (s, lag) => {
        const asked = { email: freshEmail(), verified: true, by: 'test' };
        const { account_id } = await harness.accounts.create(asked);
        const { order_id } = await harness.accounts.orders.create(account_id, 'starter', 'stripe');
        const price = { amount_total: 900, currency: 'eur', payment_status: 'paid' };
        const session = { ...price, metadata: { order_id } };
        const event = eventText('checkout.session.completed', session);
        const post = (payload: string) => () => deliver(harness.url, payload, { at_ms: harness.clock.ms });
        await race<unknown>(s, lag, [
          ...[post(event), post(event)],
          post(eventText('checkout.session.completed', session)),
          post(eventText('checkout.session.expired', session)),
          () => harness.accounts.orders.move(order_id, 'paid').catch((error: Error) => error.message),
        ]);
        const { state } = await harness.accounts.orders.get(order_id);
        expect(['paid', 'cancelled']).toContain(state);
        expect(await harness.balance(account_id)).toBe(state === 'paid' ? 10_000 : 0);
        await expectConsistentLedger(account_id);
      }),
      { numRuns },
    );
  });

  it('parallel creations of the tenth key make one key and reject the others with a message', async () => {
    const { account_id, visitor } = await harness.customer();
    for (let made = 0; made < 9; made++) await harness.accounts.keys.mint(account_id);
    const token = tokenOf(await visitor.get('/account/keys'));
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), lags, fc.integer({ min: 2, max: 4 }), async (s, lag, forms) => {
        const works = Array.from({ length: forms }, (_, index) => () => {
          return visitor.post('/account/keys', { _csrf: token, label: `race ${index}`, expires: '' });
        });
        const pages = await race(s, lag, works);
        expect(pages.filter(({ status }) => status === 200)).toHaveLength(1);
        const refused = pages.filter(({ status }) => status === 409);
        expect(refused).toHaveLength(forms - 1);
        for (const { html } of refused) expect(html).toContain('An account can have at most 10 active keys');
        const active = (await harness.accounts.keys.list(account_id)).filter(
          ({ state }) => state === 'active',
        );
        expect(active).toHaveLength(10);
        await harness.accounts.keys.revoke(active.at(-1)?.key_id ?? '');
      }),
      { numRuns },
    );
  });

  it('grants, payments, passwords and calls during an erasure bring no name back and keep the ledger consistent', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), lags, async (s, lag) => {
        const email = freshEmail();
        const asked = { email, verified: true, credits: 5, by: 'test' };
        const { account_id } = await harness.accounts.create(asked);
        await harness.context.persons.setPassword(founderOf(account_id), 'scrypt$1$1$1$a$b');
        const { key } = await harness.accounts.keys.mint(account_id, { label: 'a name' });
        const { order_id } = await harness.accounts.orders.create(account_id, 'starter');
        const { request_id } = await harness.context.requests.open(account_id, 'erasure');
        const ignoreErrors = (work: Promise<unknown>) => work.catch((error: Error) => error.message);
        await race<unknown>(s, lag, [
          () => harness.context.privacy.erasures.erase(request_id, { by: 'test' }),
          () => ignoreErrors(harness.context.privacy.erasures.erase(request_id, { by: 'test' })),
          () => ignoreErrors(harness.accounts.grant(account_id, { credits: 50, by: 'test' })),
          () => ignoreErrors(harness.accounts.orders.move(order_id, 'paid')),
          () => ignoreErrors(harness.context.persons.setPassword(founderOf(account_id), 'scrypt$1$1$1$c$d')),
          () => ignoreErrors(harness.accounts.keys.mint(account_id, { label: 'another name' })),
          () => harness.call(key),
        ]);
        const after = await harness.accounts.get(account_id);
        expect(after).toMatchObject({ state: 'closed', name: '', email: expect.stringMatching(/^erased_/) });
        await expect(harness.accounts.findByEmail(email)).rejects.toMatchObject({ code: 'account_unknown' });
        expect(await harness.context.persons.get(founderOf(account_id))).toBeNull();
        for (const { label, state } of await harness.accounts.keys.list(account_id))
          expect([label, state]).toEqual(['', 'revoked']);
        expect((await harness.call(key)).status).toBe(401);
        expect((await harness.context.requests.get(request_id)).status).toBe('done');
        await expectConsistentLedger(account_id);
      }),
      { numRuns },
    );
  });

  it('a sign-up with the address of an erased account creates another account', async () => {
    const { account_id, email } = await harness.customer();
    const { request_id } = await harness.erase(account_id);
    const visitor = harness.visitor();
    await harness.confirm(visitor, await harness.signUp(visitor, email, 'Ann again'));
    const again = await harness.accounts.findByEmail(email);
    expect(again.account_id).not.toBe(account_id);
    await harness.context.privacy.erasures.erase(request_id, { by: 'test' });
    expect((await harness.accounts.findByEmail(email)).account_id).toBe(again.account_id);
  });

  it('leave no discrepancy for reconciliation, with erased accounts and every kind of entry', async () => {
    const { account_id } = await harness.customer();
    const { order_id } = await harness.accounts.orders.create(account_id, 'starter');
    await harness.accounts.orders.move(order_id, 'paid');
    const { key } = await harness.accounts.keys.mint(account_id);
    for (let call = 0; call < 3; call++) expect((await harness.call(key)).status).toBe(200);
    await grantDuring(account_id, () => harness.erase(account_id));
    const entries = await harness.accounts.ledger(account_id);
    expect(new Set(entries.map(({ kind }) => kind))).toEqual(new Set(['grant', 'purchase', 'debit']));
    expect(await harness.balance(account_id)).toBe(700 + 10_000 - 3 + 50);
    expect(await discrepancies()).toEqual([]);
    // Prove that reconciliation covers this account: change its balance by one credit.
    await harness.redis.hincrby(redisKeys.account(account_id), 'balance', 1);
    expect(new Set((await discrepancies()).map((found) => found.account_id))).toEqual(new Set([account_id]));
    await harness.redis.hincrby(redisKeys.account(account_id), 'balance', -1);
  });
});

/** Grants during an erasure: one before it closes the account, and one after, which is rejected. */
async function grantDuring(account_id: string, erase: () => Promise<unknown>): Promise<void> {
  const grant = () => harness.accounts.grant(account_id, { credits: 50, by: 'test' });
  const close = harness.context.accounts.close.bind(harness.context.accounts);
  const closing = vi.spyOn(harness.context.accounts, 'close').mockImplementationOnce(async (id) => {
    await grant();
    const closed = await close(id);
    await expect(grant()).rejects.toMatchObject({ code: 'account_state' });
    return closed;
  });
  await erase();
  expect(closing).toHaveBeenCalledTimes(1);
  closing.mockRestore();
}

async function discrepancies(): Promise<Discrepancy[]> {
  const { redis, clock, settings } = harness;
  const { ARCHIVE_DIR: archiveDir, VAR_DIR: workDir } = settings;
  const reconciler = new Reconciler({ redis, now: () => clock.ms, archiveDir, workDir }, silentLog);
  await reconciler.refresh(30_000);
  expect(reconciler.last?.accounts).toBe(await redis.zcard(redisKeys.accounts));
  return reconciler.last?.discrepancies ?? [];
}
