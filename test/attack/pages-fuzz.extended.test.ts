/** Fuzzes every page and form of the operator area and of the account pages. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type AdminService,
  PASSWORD as OPERATOR_PASSWORD,
  startAdmin,
  type Visitor,
} from '../admin/harness.ts';
import { EventLoopWatchdog, TURN_MAX_MS } from '../event-loop-watchdog.ts';
import { type AccountPagesHarness, PASSWORD, startAccountPages } from '../gateway/commerce/pages/harness.ts';
import { fuzzSite, walk } from './site-fuzz.ts';

const RUNS = 400;
const MANY_SECONDS = 120_000;

/** @returns how often each status was answered */
async function fuzzed(visitor: Visitor, root: string, signIn: () => Promise<unknown>) {
  const site = await walk(visitor, root);
  expect(site.forms.length).toBeGreaterThan(5);
  using watchdog = new EventLoopWatchdog();
  const statuses = await fuzzSite({ visitor, site, runs: RUNS, signIn });
  expect(watchdog.longest_ms).toBeLessThan(TURN_MAX_MS);
  expect(statuses.get(200)).toBeGreaterThan(100);
  return statuses;
}

describe('the operator area', () => {
  let service: AdminService;
  beforeAll(async () => {
    service = await startAdmin();
    const { account_id } = await service.accounts.create({
      email: 'person@example.org',
      verified: true,
      credits: 1_000,
      by: 'test',
    });
    await service.accounts.keys.mint(account_id, { label: '<i id=mark>' });
    await service.accounts.orders.create(account_id, 'starter');
    await service.requests.open(account_id, 'export');
  });
  afterAll(() => service.stop());

  test(
    'answers any input with a page of its own, and shows it as text',
    async () => {
      const visitor = await service.signedIn();
      const signIn = () => visitor.signIn('operator@example.org', OPERATOR_PASSWORD);
      const statuses = await fuzzed(visitor, '/admin/', signIn);
      expect((statuses.get(422) ?? 0) + (statuses.get(400) ?? 0)).toBeGreaterThan(10);
    },
    MANY_SECONDS,
  );
});

describe('the account pages', () => {
  let harness: AccountPagesHarness;
  beforeAll(async () => {
    harness = await startAccountPages();
  });
  afterAll(() => harness.stop());

  test(
    'answer any input with a page of their own, and show it as text',
    async () => {
      const { visitor, email } = await harness.customer('<i id=mark>');
      await visitor.submit('/account/orders', '/account/orders', { pack: 'starter', payment: 'invoice' });
      await fuzzed(visitor, '/account/', () => harness.signIn(visitor, email, PASSWORD));
    },
    MANY_SECONDS,
  );
});
