/** Destructive and costly actions ask on a page of their own, say what will happen, and keep the reason. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SnapshotStorage } from '../../build/editions/snapshot-storage.ts';
import { RunReporter } from '../../build/jobs/run-reporter.ts';
import { emptyRecord } from '../../build/lake/provider-lake.ts';
import { formatTimestamp } from '../../data/schema/records.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { CURRENT_POINTER } from '../../data/schema/snapshot.ts';
import { useDirectory } from '../after-tests.ts';
import { publishFixture } from '../gateway/fixture-snapshot.ts';
import { hiddenTokens, NOON, useAdmin, wordsOf } from './harness.ts';

const OTHER_SNAPSHOT = '20261119T020000Z-0000abcd';

/** Writes a snapshot of seven indicators beside the served one. @returns the id of the served one */
async function writeSmallSnapshot(directory: string): Promise<string> {
  const served = (await readFile(join(directory, CURRENT_POINTER), 'utf8')).trim();
  const storage = new SnapshotStorage(directory);
  const log = await storage.log();
  const entry = log.editions.find(({ edition }) => edition === served);
  if (!entry) throw new Error('the fixture is not in the log');
  const counts = { ...entry.counts, indicators: 7, observations: 70 };
  const other = { ...entry, edition: OTHER_SNAPSHOT, counts };
  await storage.writeLog({ ...log, editions: [other, ...log.editions] });
  const manifest = { ...(await storage.manifest(served)), id: OTHER_SNAPSHOT };
  await writeFile(join(directory, 'editions', `${OTHER_SNAPSHOT}.json`), JSON.stringify(manifest));
  return served;
}

const directory = await useDirectory();
await publishFixture(directory);
const served = await writeSmallSnapshot(directory);
const service = await useAdmin({ SNAPSHOT_DIR: directory });
const operator = await service.signedIn();
const { accounts, requests, client } = service;
const { account_id } = await accounts.create({ email: 'ann@example.org', credits: 10, by: 'test' });
await accounts.keys.mint(account_id);
const { order_id: paid } = await accounts.orders.create(account_id, 'starter');
await accounts.orders.move(paid, 'paid');
const { order_id: pending } = await accounts.orders.create(account_id, 'starter');
await accounts.adjust(account_id, { delta: -6_010, by: 'test' });
const { request_id } = await requests.open(account_id, 'erasure');
const reporter = new RunReporter(client, () => service.clock.ms);
const finished_at = formatTimestamp(NOON);
const held = { ...emptyRecord('held', 'undp', NOON), finished_at, reason: 'rows fell by 31 %' };
reporter.onRun({ ...held, status: 'suspicious', rows_written: 5, indicators: 3 });
reporter.onRun(emptyRecord('live', 'imf', NOON));
await reporter.flush();
await reporter.close();

const stateOf = async () => (await service.accounts.get(account_id)).state;
const balanceOf = async () => (await service.accounts.get(account_id)).credits.balance;
const orderOf = (id: string) => async () => (await service.accounts.orders.get(id)).state;
const jobs = async () => (await service.client.keys(`${redisKeys.jobs}:*`)).length;
const cancelled = () => service.client.get(redisKeys.runCancel('imf', 'live'));
const requestState = async () => (await service.requests.get(request_id)).status;

interface Action {
  /** Of the audit entry. */
  name: string;
  path: string;
  query: Record<string, string>;
  /** The page that leads to it. */
  from: string;
  shows: string[];
  /** Changed by the action alone. */
  fact: () => Promise<unknown>;
  isReasonRequired: boolean;
  reasonField?: string;
}

const ACTIONS: Action[] = [
  {
    name: 'account.suspend',
    path: `/admin/users/${account_id}/suspend`,
    query: {},
    from: `/admin/users/${account_id}`,
    shows: ['Suspend ann@example.org', 'Requests with 1 active key', account_id, '4,000 credits'],
    fact: stateOf,
    isReasonRequired: false,
  },
  {
    name: 'order.paid',
    path: `/admin/orders/${pending}/move`,
    query: { to: 'paid' },
    from: '/admin/orders',
    shows: ['9.00 EUR', 'ann@example.org', 'gives 10,000 credits', 'pending → paid', '4,000 → 14,000'],
    fact: async () => [await orderOf(pending)(), await balanceOf()],
    isReasonRequired: true,
  },
  {
    name: 'order.refunded',
    path: `/admin/orders/${paid}/move`,
    query: { to: 'refunded' },
    from: '/admin/orders',
    shows: ['paid → refunded', '14,000 → 4,000', 'It moves no money'],
    fact: () => orderOf(paid)(),
    isReasonRequired: true,
  },
  {
    name: 'order.refunded',
    path: `/admin/orders/${pending}/move`,
    query: { to: 'refunded' },
    from: '/admin/orders',
    shows: ['6,000 credits were already spent', '4,000 → 0'],
    fact: () => orderOf(pending)(),
    isReasonRequired: true,
  },
  {
    name: 'run.cancel',
    path: '/admin/runs/imf/live/cancel',
    query: {},
    from: '/admin/runs/imf/live',
    shows: ['Cancel run live of imf', 'is discarded'],
    fact: cancelled,
    isReasonRequired: false,
  },
  {
    name: 'run.accept',
    path: '/admin/runs/undp/held/accept',
    query: {},
    from: '/admin/runs/undp/held',
    shows: ['rows fell by 31 %', 'Rows 0 → 5', 'Indicators 3'],
    fact: jobs,
    isReasonRequired: true,
  },
  {
    name: 'snapshot.rollback',
    path: `/admin/snapshots/${OTHER_SNAPSHOT}/rollback`,
    query: {},
    from: '/admin/snapshots',
    shows: [`${served} → ${OTHER_SNAPSHOT}`, '13 → 7', '6 indicators fewer'],
    fact: jobs,
    isReasonRequired: true,
  },
  {
    name: 'snapshot.rebuild',
    path: '/admin/rebuild',
    query: {},
    from: '/admin/snapshots',
    shows: ['Served now 13 indicators', 'In the lake'],
    fact: jobs,
    isReasonRequired: true,
  },
  {
    name: 'request.close',
    path: `/admin/gdpr/${request_id}/close`,
    query: { status: 'done' },
    from: '/admin/gdpr',
    shows: ['Erase ann@example.org', 'Removes now: 1 e-mail address', '1 key revoked', 'cannot be undone'],
    fact: requestState,
    isReasonRequired: false,
    reasonField: 'note',
  },
];

describe.each(ACTIONS)('$name', ({ name, path, query, from, shows, fact, isReasonRequired, reasonField }) => {
  const field = reasonField ?? 'reason';
  const asked = `${path}?${new URLSearchParams(query)}`.replace(/\?$/, '');

  it('is offered as a link to a page that says what will happen, and changes nothing', async () => {
    const before = await fact();
    const offer = await operator.get(from);
    expect(offer.html).toContain(`href="${asked}"`);
    expect(offer.html).not.toContain(`action="${path}"`);
    const page = await operator.get(asked);
    expect(page.status).toBe(200);
    for (const words of shows) expect(wordsOf(page)).toContain(words);
    expect(page.html).toContain(`method="post" action="${path}"`);
    expect(await fact()).toEqual(before);
  });

  it('keeps the reason in the audit log, and requires it for books and public', async () => {
    const before = await fact();
    const form = hiddenTokens(await operator.get(asked));
    if (isReasonRequired) {
      for (const reason of [undefined, '', '  ']) {
        const refused = await operator.post(path, {
          ...form,
          ...query,
          ...(reason !== undefined && { reason }),
        });
        expect([refused.status, wordsOf(refused).includes('Give a reason.')]).toEqual([422, true]);
      }
      expect(await fact()).toEqual(before);
    }
    const answer = await operator.post(path, { ...form, ...query, [field]: 'because' });
    expect(answer.status).toBe(303);
    expect(await fact()).not.toEqual(before);
    const [entry] = await service.audit.list({ limit: 1 });
    expect(entry).toMatchObject({ action: name, reason: 'because', by: 'operator@example.org' });
  });

  it('is not offered to viewers', async () => {
    const viewer = await service.signedIn('viewer');
    expect((await viewer.get(from)).html).not.toContain(path);
    expect((await viewer.get(asked)).status).toBe(403);
  });
});

it('an adjustment of credits says what it will take before it takes it', async () => {
  const { account_id: id } = await service.accounts.create({
    email: 'bea@example.org',
    credits: 30,
    by: 'test',
  });
  const path = `/admin/users/${id}`;
  const send = async (from: string, fields: Record<string, string>) =>
    operator.submit(from, `${path}/credits`, { step: 'ask', ...fields });
  expect(wordsOf(await send(path, { delta: '-100', reason: '' }))).toContain('Give a reason.');
  const asked = await send(path, { delta: '-100', reason: 'a mistake' });
  expect(asked.status).toBe(200);
  for (const words of ['Take 100 credits from bea@example.org', '30 → 0', '70 credits were already spent'])
    expect(wordsOf(asked)).toContain(words);
  expect((await service.accounts.get(id)).credits.balance).toBe(30);
  const inputs = Object.fromEntries(
    [...asked.html.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)].map(
      ([, n = '', v = '']) => [n, v],
    ),
  );
  expect(inputs).toMatchObject({ delta: '-100', reason: 'a mistake' });
  expect((await operator.post(`${path}/credits`, inputs)).status).toBe(303);
  expect((await service.accounts.get(id)).credits.balance).toBe(0);
});
