/** Markup and spreadsheet formulas in stored text are shown as text on pages and disarmed in CSV exports. */
import { parse } from 'csv-parse/sync';
import { expect, it } from 'vitest';
import { RunReporter } from '../../build/jobs/run-reporter.ts';
import { emptyRecord } from '../../build/lake/provider-lake.ts';
import { formatTimestamp } from '../../data/schema/records.ts';
import { NOON, useAdmin } from './harness.ts';

const EVIL = `=HYPERLINK("http://evil.example")"'><img src=x onerror=alert(1)>{{ 7*7 }}{% raw %}</title><script>`;

/** A page without the one picture that it has: the mark of the service in its header. */
const withoutMark = (html: string): string =>
  html.replace(/<img src="\/assets\/icon-[0-9a-f]{12}\.svg" alt="" width="28" height="28">/, '');

const service = await useAdmin();
const operator = await service.signedIn();
const { accounts, client } = service;
const account = (
  await accounts.create({ email: 'evil@example.org', name: EVIL, verified: true, credits: 9, by: EVIL })
).account_id;
const email = `${EVIL}@example.org`;
await client.hset(`{a:${account}}:account`, 'email', email, 'balance', 10);
await accounts.keys.mint(account, { label: EVIL });
await service.charge(account, [{ route: EVIL, request_id: EVIL }]);
const { order_id } = await accounts.orders.create(account, 'starter');
await client.hset(`{a:${account}}:order:${order_id}`, 'pack_name', EVIL, 'currency', EVIL, 'pack_id', EVIL);
await service.requests.open(account, 'export');
await operator.submit('/admin/', `/admin/users/${account}/credits`, {
  delta: '2',
  reason: EVIL,
  idem: EVIL,
});
const [, first = ''] = (await operator.get('/admin/indicators?format=csv')).html.split('\r\n');
const indicator = first.split(',')[0] ?? '';
const edit = { name: EVIL, description: EVIL, unit: EVIL.slice(0, 150) };
await operator.submit('/admin/', `/admin/indicators/${indicator}`, edit);
const reporter = new RunReporter(client, () => NOON);
reporter.onRun({
  ...emptyRecord(EVIL, 'imf', NOON),
  status: 'suspicious',
  finished_at: formatTimestamp(NOON),
  vintage: EVIL,
  reason: EVIL,
  rejects: { unknown_place: { rows: 1, distinct: 1, samples: [EVIL] } },
  failed_indicators: [{ slug: EVIL, reason: EVIL, rows: 1 }],
});
reporter.write(JSON.stringify({ time: EVIL, level: 30, run: EVIL, provider: 'imf', msg: EVIL }));
await reporter.close();

const inPath = encodeURIComponent(EVIL);
const pages: string[] = [
  ...['/admin/', '/admin/indicators', `/admin/indicators/${indicator}`, '/admin/runs'],
  ...[`/admin/runs/imf/${inPath}`, `/admin/users?q=${inPath}`, '/admin/users', `/admin/users/${account}`],
  ...['/admin/orders', `/admin/orders?status=${encodeURIComponent(EVIL.slice(0, 40))}`, '/admin/usage'],
  ...['/admin/reconcile', '/admin/gdpr', '/admin/audit', `/admin/${inPath}`],
];

it('are escaped on every page', async () => {
  let shown = 0;
  for (const path of pages) {
    const { html, status } = await operator.get(path);
    expect([path, [200, 404].includes(status)]).toEqual([path, true]);
    expect([path, withoutMark(html).match(/<img|<script|onerror=alert\(1\)>|49\{%/g)]).toEqual([path, null]);
    if (html.includes('&lt;img src=x onerror=alert(1)&gt;{{ 7*7 }}')) shown += 1;
  }
  expect(shown).toBeGreaterThanOrEqual(10);
});

it('are escaped in refused forms', async () => {
  const answer = await operator.submit('/admin/', `/admin/users/${account}/credits`, {
    delta: EVIL.slice(0, 90),
    reason: EVIL,
  });
  expect(answer.status).toBe(422);
  expect(withoutMark(answer.html)).not.toMatch(/<img|<script/);
  const stranger = service.visitor();
  const refused = await stranger.signIn(EVIL, EVIL, EVIL);
  expect(refused.html).toContain('&lt;img');
  expect(withoutMark(refused.html)).not.toMatch(/<img|<script/);
});

it('are disarmed in every CSV export', async () => {
  const lists = [
    ...['/admin/users', '/admin/orders', '/admin/usage', '/admin/reconcile', '/admin/gdpr', '/admin/audit'],
    ...['/admin/indicators', '/admin/runs'],
  ].map((path) => `${path}?format=csv`);
  const own = ['keys', 'ledger', 'orders', 'audit', 'usage'].map(
    (list) => `/admin/users/${account}?format=${list}.csv`,
  );
  let disarmed = 0;
  for (const path of [...lists, ...own]) {
    const { html, status, headers } = await operator.get(path);
    expect([path, status]).toEqual([path, 200]);
    expect(headers['content-disposition']).toMatch(/^attachment; filename="[\w-]+\.csv"$/);
    const cells: string[] = parse(html).flat();
    const live = cells.filter((cell) => /^[=+\-@\t\r]/.test(cell) && !/^-?\d+(\.\d+)?$/.test(cell));
    expect([path, live]).toEqual([path, []]);
    disarmed += cells.filter((cell) => cell.startsWith("'=HYPERLINK")).length;
  }
  expect(disarmed).toBeGreaterThanOrEqual(8);
});
