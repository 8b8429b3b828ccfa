/** Privacy requests that operators close: an erasure is done only when the account really was erased. */
import { randomBytes } from 'node:crypto';
import { expect, it, vi } from 'vitest';
import { ScriptRunner } from '../../data/runtime/redis-scripts.ts';
import { readSettings } from '../../data/runtime/settings.ts';
import { FeedStore } from '../../gateway/api/metering/feeds.ts';
import { readUsedDays, UsedIndicators } from '../../gateway/api/metering/usage.ts';
import { MemberStore } from '../../gateway/commerce/accounts/member-store.ts';
import { founderOf, PersonStore } from '../../gateway/commerce/accounts/person-store.ts';
import { ConnectionStore } from '../../gateway/commerce/connections/connection-store.ts';
import { AuditLog, accountSubject } from '../../gateway/commerce/history/audit-log.ts';
import {
  CHANGE_KINDS,
  readToldKinds,
  setToldKinds,
} from '../../gateway/commerce/notifications/alerts/change-alerts.ts';
import { BalanceAlerts, SpendingAlerts } from '../../gateway/commerce/notifications/alerts/ledger-alerts.ts';
import { createMailer } from '../../gateway/commerce/notifications/mail/mailer.ts';
import { EndpointStore } from '../../gateway/commerce/notifications/webhooks/endpoint-store.ts';
import { Erasures } from '../../gateway/commerce/privacy/erasures.ts';
import { ExportFiles } from '../../gateway/commerce/privacy/export-files.ts';
import { silentLog } from '../redis.ts';
import { type AdminService, useAdmin, wordsOf } from './harness.ts';

let people = 0;

const service = await useAdmin();
const operator = await service.signedIn('operator');

const storesOf = ({ client, clock }: AdminService) => ({
  redis: client,
  now: () => clock.ms,
  random: randomBytes,
});
const personsOf = (one: AdminService) => new PersonStore(storesOf(one));
const endpointsOf = (one: AdminService) => new EndpointStore({ ...storesOf(one), allowsPrivate: false });
const connectionsOf = (one: AdminService) => new ConnectionStore(storesOf(one));
const feedsOf = (one: AdminService) => new FeedStore(storesOf(one));

/** An account with everything that an erasure removes, and a request for it. */
async function person() {
  const email = `person-${people++}@example.org`;
  const { accounts, client, requests } = service;
  const { account_id } = await accounts.create({
    email,
    name: 'Ada',
    verified: true,
    credits: 5,
    by: 'test',
  });
  await personsOf(service).setPassword(founderOf(account_id), 'scrypt$1$1$1$a$b');
  await new BalanceAlerts(storesOf(service)).set(account_id, 3);
  await new SpendingAlerts(storesOf(service)).set(account_id, { above: 5, per: 'day' });
  await setToldKinds(client, account_id, []);
  const used = new UsedIndicators(new ScriptRunner(client));
  used.note(account_id, ['alpha.life_expectancy'], service.clock.ms);
  await used.flush();
  const webhook = { url: 'https://hooks.example.org/ada', types: ['key.created'], by: email };
  await endpointsOf(service).create(account_id, webhook);
  const { key_id } = await accounts.keys.mint(account_id, { label: 'a name of hers' });
  const { key_id: kept } = await accounts.keys.mint(account_id, {
    by: email,
    rules: { monthly_limit: 5, ranges: ['203.0.113.7'], origins: ['https://ada.example'] },
  });
  await accounts.keys.revoke(key_id);
  const terms = { name: 'Sheet of Ada', query: '/v1/countries/KEN', format: 'csv', monthly_cap: 5 } as const;
  await feedsOf(service).create({ account_id, key_id: kept }, { ...terms, expires_at_ms: null }, email);
  await connectionsOf(service).create({
    account_id,
    person_id: founderOf(account_id),
    monthly_limit: 5,
    expires_at_ms: service.clock.ms + 60_000,
    client_id: 'https://ada.example/host.json',
    client_name: 'Host of Ada',
    host: 'ada.example',
    redirect_uri: 'https://ada.example/',
    challenge: '',
  });
  await accounts.orders.create(account_id, 'starter');
  const { request_id } = await requests.open(account_id, 'erasure');
  return { email, account_id, request_id };
}

const ALL = {
  addresses: 1,
  names: 1,
  passwords: 1,
  keys: 1,
  key_labels: 2,
  connections: 1,
  feeds: 1,
  orders: 1,
  exports: 0,
  alerts: 2,
  webhooks: 1,
};

const close = (request_id: string, status: string, note = '') =>
  operator.submit('/admin/gdpr', `/admin/gdpr/${request_id}/close`, { status, note });

const stateOf = async (account_id: string) => {
  const { email, name, state } = await service.accounts.get(account_id);
  const orders = await service.accounts.orders.list(account_id);
  const keys = await service.accounts.keys.list(account_id);
  return {
    email: email.replace(/_.*/, ''),
    name,
    state,
    orders: orders.map((order) => order.state),
    keys: keys.map(({ state, label, by, ranges, origins }) =>
      [state, label, by, ...ranges, ...origins].join(':'),
    ),
    password: (await personsOf(service).get(founderOf(account_id)))?.password ?? null,
    alert: await new BalanceAlerts(storesOf(service)).get(account_id),
    spending: await new SpendingAlerts(storesOf(service)).get(account_id),
    changes: await readToldKinds(service.client, account_id),
    used: (await readUsedDays(service.client, account_id)).length,
    webhooks: await endpointsOf(service).list(account_id),
    connections: await connectionsOf(service).list(account_id),
    feeds: await feedsOf(service).list(account_id),
  };
};

const ERASED = {
  email: 'erased',
  name: '',
  state: 'closed',
  orders: ['cancelled'],
  keys: ['revoked::', 'revoked::'],
  password: null,
  alert: null,
  webhooks: [],
  connections: [],
  feeds: [],
  spending: null,
  changes: [...CHANGE_KINDS],
  used: 0,
};

it('“Done” on an erasure erases the account, says what it removed, and records it', async () => {
  const { email, account_id, request_id } = await person();
  expect(wordsOf(await operator.get(`/admin/users/${account_id}`))).toMatch(
    /Sheet of Ada, ….{4}\.csv \/v1\/countries\/KEN .* 0 0 of 5 /,
  );
  expect((await close(request_id, 'done', 'asked by letter')).status).toBe(303);
  expect(await stateOf(account_id)).toEqual(ERASED);
  await expect(service.accounts.findByEmail(email)).rejects.toMatchObject({ code: 'account_unknown' });
  expect(await service.requests.get(request_id)).toMatchObject({
    status: 'done',
    note: 'asked by letter',
    closed_by: 'operator@example.org',
    removed: ALL,
  });
  expect(wordsOf(await operator.get('/admin/gdpr'))).toContain(
    'Removed: 1 e-mail address, 1 name, 1 password, 1 key revoked, 2 keys stripped of their names, 1 connection, 1 feed link, 1 open order cancelled, 2 alerts, 1 webhook.',
  );
  const [closed, erased] = await service.audit.list({ subject: accountSubject(account_id) });
  expect(closed).toMatchObject({ action: 'request.close', by: 'operator@example.org' });
  expect(erased).toMatchObject({ action: 'account.erase', by: 'operator@example.org', after: ALL });
});

it('an erasure that is interrupted stays open; the next attempt completes it and its record', async () => {
  const { account_id, request_id } = await person();
  const { client, accounts, requests } = service;
  const base = storesOf(service);
  const { now } = base;
  const mailer = createMailer(readSettings({ VAR_DIR: '/nowhere' }), { now, log: silentLog });
  vi.spyOn(mailer, 'deleteFor').mockRejectedValueOnce(new Error('the disk is gone'));
  const persons = personsOf(service);
  const erasures = new Erasures({
    ...base,
    accounts,
    persons,
    requests,
    mailer,
    log: silentLog,
    members: new MemberStore(base),
    connections: new ConnectionStore(base),
    exports: new ExportFiles('/nowhere'),
    audit: new AuditLog(client, now),
    stripe: null,
  });
  await expect(erasures.erase(request_id, { by: 'test' })).rejects.toThrow('the disk is gone');
  expect((await requests.get(request_id)).status).toBe('ready');
  expect((await accounts.get(account_id)).state).toBe('closed');
  await erasures.erase(request_id, { by: 'test' });
  expect(await requests.get(request_id)).toMatchObject({ status: 'done', removed: ALL });
  expect(await stateOf(account_id)).toEqual(ERASED);
});

it('no request becomes done without being carried out', async () => {
  const { account_id, request_id } = await person();
  const { requests } = service;
  await expect(requests.complete(request_id, { by: 'test' })).rejects.toMatchObject({
    code: 'request_state',
  });
  expect((await requests.get(request_id)).status).toBe('pending');
  const copy = await requests.open(account_id, 'export');
  expect((await close(copy.request_id, 'done')).status).toBe(409);
  expect((await requests.get(copy.request_id)).status).toBe('pending');
  await requests.markReady(copy.request_id, 'prepared');
  expect((await close(copy.request_id, 'done', 'handed over')).status).toBe(303);
  expect(await requests.get(copy.request_id)).toMatchObject({ status: 'done', note: 'handed over' });
});
