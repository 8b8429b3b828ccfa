/** The account page while a data export is prepared, ready, expired and erased; given up: `jobs.test.ts`. */
import { readdir } from 'node:fs/promises';
import { expect, it, vi } from 'vitest';
import { wordsOf } from '../../../admin/harness.ts';
import { type Customer, useAccountPages } from './harness.ts';

const DAY_MS = 86_400_000;

const harness = await useAccountPages();

/** A customer whose export is ready. */
async function exported(): Promise<Customer & { request_id: string; path: string }> {
  const customer = await harness.customer();
  const path = await harness.exported(customer);
  return { ...customer, path, request_id: path.split('/')[3] ?? '' };
}

const filesOf = async (request_id: string): Promise<string[]> =>
  (await readdir(harness.settings.EXPORT_DIR)).filter((name) => name.includes(request_id));

it('shows how far a preparation is, and refreshes if the reader asks for it', async () => {
  const { account_id, visitor } = await harness.customer();
  const { requests } = harness.context;
  const { request_id } = await requests.open(account_id, 'export');
  expect(wordsOf(await visitor.get('/account/data'))).toContain('Waiting to be prepared');
  await requests.setProgress(request_id, { done: 5_000, total: 12_000 });
  const page = await visitor.get('/account/data');
  expect(wordsOf(page)).toContain('5,000 of 12,000 ledger entries written');
  expect(page.html).toContain('<progress max="12000" value="5000"');
  expect(page.headers.refresh).toBeUndefined();
  expect((await visitor.get('/account/data?follow=yes')).headers.refresh).toBe('5');
  await harness.handlers.prepare({ request_id });
  expect((await visitor.get('/account/data?follow=yes')).headers.refresh).toBeUndefined();
  expect(await requests.get(request_id)).toMatchObject({ status: 'ready', progress: null });
});

it('offers the file for seven days, then deletes it', async () => {
  const { visitor, request_id, path } = await exported();
  const file = await visitor.get(path);
  expect(file.headers).toMatchObject({ 'content-type': 'application/zip' });
  expect(Number(file.headers['content-length'])).toBeGreaterThan(500);
  const { ms } = harness.clock;
  harness.clock.ms += 7 * DAY_MS - 1;
  await harness.handlers.sweep({});
  expect(await filesOf(request_id)).toHaveLength(1);
  harness.clock.ms += 1;
  expect(await harness.context.privacy.download(await harness.context.requests.get(request_id))).toBeNull();
  await harness.handlers.sweep({});
  expect(await filesOf(request_id)).toEqual([]);
  harness.clock.ms = ms;
  expect((await visitor.get(path)).status).toBe(410);
});

it('deletes the file with the account, also one that is written during the erasure', async () => {
  const { account_id, visitor, request_id, path } = await exported();
  expect((await visitor.get(path)).status).toBe(200);
  const { requests, privacy } = harness.context;
  const late = await requests.open(account_id, 'export');
  const { request_id: erasure } = await requests.open(account_id, 'erasure');
  const markReady = requests.markReady.bind(requests);
  vi.spyOn(requests, 'markReady').mockImplementationOnce(async (id, plan) => {
    expect((await privacy.erasures.erase(erasure, { by: 'test' })).removed).toMatchObject({ exports: 2 });
    return markReady(id, plan);
  });
  await expect(harness.handlers.prepare({ request_id: late.request_id })).rejects.toThrow(
    'cannot become ready',
  );
  vi.restoreAllMocks();
  expect([...(await filesOf(request_id)), ...(await filesOf(late.request_id))]).toEqual([]);
  expect((await requests.get(late.request_id)).status).toBe('failed');
});
