/** What a feed link pays, by its content: against a model, whatever is fetched, refunded or topped up in whatever order. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { redisKeys } from '../../../../data/schema/redis-keys.ts';
import type { Debit, Verdict } from '../../../../gateway/api/metering/metering.ts';
import { readUsageDays } from '../../../../gateway/api/metering/usage.ts';
import { useRedis } from '../../../redis.ts';
import { booksOf, createWorld, debitOf, UNLIMITED } from './harness.ts';

const server = await useRedis();
const world = createWorld(await server.connect(), UNLIMITED);
const { feeds } = world.metering;

const CONTENTS = ['a', 'b', 'c'] as const;
const PRICES = { a: 3, b: 5, c: 8 } as const;
type Content = (typeof CONTENTS)[number];

const step = fc.record({
  content: fc.constantFrom(...CONTENTS),
  /** How many fetch it at once. */
  fetches: fc.integer({ min: 1, max: 5 }),
  /** The answer of the first that paid is not given. */
  breaks: fc.boolean(),
});

/** @param lives_ms null for ever */
async function makeLink(
  customer: Awaited<ReturnType<typeof world.customer>>,
  monthly_cap: number,
  lives_ms: number | null = null,
) {
  const terms = { name: 'Sheet', query: '/v1/data?indicator=x.y', format: 'csv' as const };
  const expires_at_ms = lives_ms === null ? null : world.clock.ms + lives_ms;
  const created = await feeds.create(customer.apiKey, { ...terms, monthly_cap, expires_at_ms });
  if (created.kind !== 'created') throw new Error(created.kind);
  const { feed_id } = created.feed;
  const fetchOnce = (content: Content, isPaidOnly = false): Promise<Verdict> =>
    customer.call({
      route: '/feed',
      price: PRICES[content],
      rows: PRICES[content],
      indicators: ['x.y'],
      feed: { feed_id, content, edition: `edition ${content}`, bytes: 10, isPaidOnly },
    });
  return { ...created, feed_id, fetchOnce };
}

test('each content is paid once, within cap and balance; what is refunded is unpaid, unless it was shared', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 0, max: 20 }),
      fc.integer({ min: 1, max: 20 }),
      async (steps, credits, cap) => {
        const customer = await world.customer({ credits });
        const link = await makeLink(customer, cap);
        const paid = new Set<Content>();
        let spent = 0;
        for (const { content, fetches, breaks } of steps) {
          const price = PRICES[content];
          const isPaid = paid.has(content) || (spent + price <= cap && spent + price <= credits);
          const verdicts = await Promise.all(Array.from({ length: fetches }, () => link.fetchOnce(content)));
          expect(verdicts.every(({ kind }) => (kind === 'admitted') === isPaid)).toBe(true);
          const charged = verdicts.filter((verdict) => verdict.kind === 'admitted' && verdict.charged > 0);
          expect(charged).toHaveLength(isPaid && !paid.has(content) ? 1 : 0);
          if (charged.length > 0) {
            spent += price;
            paid.add(content);
          }
          if (breaks && charged[0]) {
            await world.metering.refund(debitOf(charged[0]));
            if (fetches === 1) {
              spent -= price;
              paid.delete(content);
            }
          }
        }
        await expectBooks(customer.account_id, {
          spent,
          credits,
          feed_id: link.feed_id,
          key_id: customer.apiKey.key_id,
        });
      },
    ),
    { numRuns: 40 },
  );
});

/** Wallet, ledger, the month of the link and of its key, and usage agree. */
async function expectBooks(
  account_id: string,
  { spent, credits, feed_id, key_id }: { spent: number; credits: number; feed_id: string; key_id: string },
): Promise<void> {
  const books = await booksOf(world, account_id);
  expect(books).toMatchObject({ balance: credits - spent, ledger: credits - spent, spent });
  const [feed] = await feeds.list(account_id);
  expect(feed?.month_credits).toBe(spent);
  const month = await world.redis.hget(redisKeys.keys(account_id), `${key_id}:month`);
  expect(Number(month?.split('=')[1] ?? 0)).toBe(spent);
  const [day] = await readUsageDays(world.redis, account_id, 1, world.clock.ms);
  expect(Number(day?.counters[`/feed/${feed_id}|${key_id}|credits`] ?? 0)).toBe(spent);
}

test('a lost reply is repeated without a second charge, and a late debit after its reversal charges nothing', async () => {
  const customer = await world.customer({ credits: 10 });
  const { fetchOnce, feed_id } = await makeLink(customer, 10);
  const debit: Debit = debitOf(await fetchOnce('a'));
  expect(debit.route).toBe(`/feed/${feed_id}`);
  await world.metering.refund(debit);
  await world.metering.refund(debit);
  const books = { spent: 0, credits: 10, feed_id, key_id: customer.apiKey.key_id };
  await expectBooks(customer.account_id, books);
  expect((await fetchOnce('a')).kind).toBe('admitted');
  await expectBooks(customer.account_id, { ...books, spent: 3 });
});

test('what was paid is remembered for eight contents, and asked for alone it is never charged', async () => {
  const customer = await world.customer({ credits: 1000 });
  const { fetchOnce, feed_id } = await makeLink(customer, 1000);
  expect((await fetchOnce('a', true)).kind).toBe('feed_unpaid');
  await fetchOnce('a');
  expect((await fetchOnce('a', true)).kind).toBe('admitted');
  const others = Array.from({ length: 8 }, (_, at) => ({ feed_id, content: `other ${at}`, edition: 'e' }));
  for (const one of others)
    await customer.call({ route: '/feed', feed: { ...one, bytes: 1, isPaidOnly: false } });
  expect((await fetchOnce('a', true)).kind).toBe('feed_unpaid');
});

test('a link of another key, a revoked and an expired one are over; erased, its secret finds nothing', async () => {
  const [customer, stranger] = [await world.customer(), await world.customer()];
  const { feed_id, secret } = await makeLink(customer, 10);
  const feed = { feed_id, content: 'a', edition: 'e', bytes: 1, isPaidOnly: false };
  expect((await stranger.call({ route: '/feed', feed })).kind).toBe('feed_over');
  const [revoked, expiring] = [await makeLink(customer, 10), await makeLink(customer, 10, 1)];
  await feeds.revoke(customer.account_id, revoked.feed_id);
  expect((await revoked.fetchOnce('a')).kind).toBe('feed_over');
  expect((await expiring.fetchOnce('a')).kind).toBe('admitted');
  world.clock.ms += 1;
  expect((await expiring.fetchOnce('a')).kind).toBe('feed_over');
  expect(await feeds.find(secret)).toMatchObject({ feed_id, account_id: customer.account_id });
  expect(await feeds.revoke(stranger.account_id, feed_id)).toBe(false);
  await feeds.erase(customer.account_id);
  await feeds.erase(customer.account_id);
  expect([await feeds.find(secret), await feeds.list(customer.account_id)]).toEqual([null, []]);
  expect(await world.redis.exists(redisKeys.feeds(customer.account_id))).toBe(0);
});

test('of ended links the newest twenty are listed', async () => {
  const customer = await world.customer();
  const made: string[] = [];
  for (let at = 0; at < 22; at += 1) {
    const { feed_id } = await makeLink(customer, 10);
    made.push(feed_id);
    world.clock.ms += 1;
    await feeds.revoke(customer.account_id, feed_id);
  }
  const last = await makeLink(customer, 10);
  const listed = (await feeds.list(customer.account_id)).map(({ feed_id }) => feed_id);
  expect(listed).toEqual([...made.slice(-20), last.feed_id]);
});
