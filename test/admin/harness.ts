/**
 * The operator area for a test file: a real Redis, the fixture snapshot, a gateway with the area mounted on a free port,
 * and a client that keeps cookies and reads forms like a browser without scripts.
 */

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { OperatorStore, type Role } from '../../admin/operators.ts';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { readSettings } from '../../data/runtime/settings.ts';
import type { CreditPack } from '../../data/schema/curated.ts';
import type { Admission } from '../../gateway/api/metering/metering.ts';
import { RedisMetering } from '../../gateway/api/metering/redis-metering.ts';
import type { SnapshotStore } from '../../gateway/api/snapshot/editions/store.ts';
import { buildApp } from '../../gateway/app.ts';
import { AccountStore } from '../../gateway/commerce/accounts/account-store.ts';
import { Archive } from '../../gateway/commerce/history/archive.ts';
import { AuditLog } from '../../gateway/commerce/history/audit-log.ts';
import { OperatorAlerts } from '../../gateway/commerce/notifications/alerts/operator-alerts.ts';
import { createMailer, type Mailer } from '../../gateway/commerce/notifications/mail/mailer.ts';
import { PasswordHasher } from '../../gateway/commerce/people/passwords.ts';
import { openPrivacy } from '../../gateway/commerce/privacy/privacy.ts';
import { PrivacyRequestStore } from '../../gateway/commerce/privacy/request-store.ts';
import { stopAfterTests } from '../after-tests.ts';
import { SOURCE } from '../gateway/api/metering/harness.ts';
import { publishFixture } from '../gateway/fixture-snapshot.ts';
import { openSnapshots } from '../gateway/open-snapshots.ts';
import { type RedisOptions, silentLog, startRedis, type TestRedis } from '../redis.ts';

/** A moment in the middle of a UTC day. */
export const NOON = Date.UTC(2026, 10, 21, 12, 0, 20);
export const PASSWORD = 'correct horse battery staple';
export const PACKS: CreditPack[] = [
  { id: 'starter', name: 'Starter', credits: 10_000, price_minor: 900, currency: 'EUR' },
];

export interface Page {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  html: string;
  /** Target of a redirect. */
  location: string;
}

export interface AdminService extends AnyAdminService {
  redis: TestRedis;
}

export interface AnyAdminService extends AsyncDisposable {
  url: string;
  client: RedisClient;
  /** The area's own connection. */
  adminClient: RedisClient;
  accounts: AccountStore;
  snapshots: SnapshotStore;
  operators: OperatorStore;
  requests: PrivacyRequestStore;
  metering: RedisMetering;
  audit: AuditLog;
  /** Charges a new key of an account for calls. */
  charge(account_id: string, calls: readonly Partial<Admission>[]): Promise<void>;
  /** The service's clock. */
  clock: { ms: number };
  routes: { method: string; url: string }[];
  visitor(): Visitor;
  /** A visitor who is signed in; ends all other sessions of that role. */
  signedIn(role?: Role): Promise<Visitor>;
  stop(): Promise<void>;
}

/** Its hashes have the stored form, with parameters that cost a test no time. */
const QUICK_HASHER = new PasswordHasher(16);

interface AdminOptions {
  /** Default: from the settings. */
  mailer?: Mailer;
  lakeDir?: string;
  watchEvery_ms?: number;
  /** For what the test makes without the pages. */
  random?: (bytes: number) => Buffer;
}

/** The area on one Redis. */
export async function startAdmin(
  settings: Record<string, string> = {},
  options: RedisOptions & AdminOptions = {},
): Promise<AdminService> {
  const redis = await startRedis(options);
  return { ...(await startAdminOn(redis, settings, options)), redis };
}

/** The same, stopped after the tests of the file or suite. */
export const useAdmin = (...options: Parameters<typeof startAdmin>): Promise<AdminService> =>
  stopAfterTests(startAdmin(...options));

/** The area on any Redis, which `stop` also stops. Serves the fixture unless `SNAPSHOT_DIR` is set. */
export async function startAdminOn(
  redis: Pick<TestRedis, 'url' | 'connect' | 'stop'>,
  settings: Record<string, string> = {},
  options: AdminOptions = {},
): Promise<AnyAdminService> {
  const directory = await mkdtemp(join(tmpdir(), 'alm-admin-'));
  if (settings.SNAPSHOT_DIR === undefined) await publishFixture(directory);
  const client = await redis.connect();
  const adminClient = await redis.connect();
  const clock = { ms: NOON };
  const now = (): number => clock.ms;
  const { random = randomBytes } = options;
  const known = readSettings({
    LOG_LEVEL: 'silent',
    VAR_DIR: directory,
    SNAPSHOT_DIR: directory,
    ...settings,
  });
  const snapshots = await openSnapshots(known.SNAPSHOT_DIR);
  const metering = new RedisMetering({ redis: client, settings: known, now, log: silentLog });
  const archive = new Archive(known.ARCHIVE_DIR);
  const accounts = new AccountStore({
    redis: client,
    now,
    random,
    packs: PACKS,
    archive,
  });
  const mailer = options.mailer ?? createMailer(known, { now, log: silentLog });
  let requests = 0;
  const routes: { method: string; url: string }[] = [];
  const app = buildApp({
    settings: known,
    metering,
    snapshots,
    now,
    log: silentLog,
    randomId: () => `test-${requests++}`,
    admin: {
      redis: adminClient,
      accounts,
      now,
      log: silentLog,
      snapshots,
      settings: { ...known, LAKE_DIR: options.lakeDir ?? known.LAKE_DIR },
      archive,
      erasures: openPrivacy({ settings: known, redis: adminClient, accounts, archive, now, log: silentLog })
        .privacy.erasures,
      mailer,
      operatorAlerts: new OperatorAlerts({
        redis: adminClient,
        settings: known,
        mailer,
        now,
        random: randomBytes,
      }),
      ...(options.watchEvery_ms !== undefined && { watchEvery_ms: options.watchEvery_ms }),
      areaUrl: () => `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/admin`,
    },
    onRoute: (route) => routes.push(route),
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const agent = new Agent({ connections: 32 });
  const operators = new OperatorStore(client, now, QUICK_HASHER);
  const visitor = (): Visitor => new Visitor(url, agent);
  const stop = async (): Promise<void> => {
    await agent.close();
    await app.close();
    await archive.close();
    await snapshots.close();
    await redis.stop();
    await rm(directory, { recursive: true, force: true });
  };
  return {
    url,
    client,
    adminClient,
    accounts,
    snapshots,
    operators,
    requests: new PrivacyRequestStore({ redis: client, now, random }),
    metering,
    audit: new AuditLog(client, now),
    charge: async (account_id, calls) => {
      const { key } = await accounts.keys.mint(account_id);
      const apiKey = await metering.resolveKey(`Bearer ${key}`);
      if (!apiKey) throw new Error('the key does not resolve');
      const usual = { key: apiKey, source: SOURCE, route: '/v1/data', status: 200, request_id: 'r' };
      await Promise.all(
        calls.map((one) => metering.admit({ ...usual, price: 1, rows: one.price ?? 1, ...one })),
      );
      await metering.flush();
    },
    clock,
    routes,
    visitor,
    signedIn: async (role = 'operator') => {
      const email = `${role}@example.org`;
      await operators.put(email, role, PASSWORD);
      const user = visitor();
      const answer = await user.signIn(email, PASSWORD);
      if (answer.status !== 303) throw new Error(`sign-in returned ${answer.status}`);
      return user;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

export type Fields = Record<string, string>;

/** Keeps cookies as a browser does; follows no redirects. */
export class Visitor {
  readonly cookies = new Map<string, string>();
  /** Sent with every request. */
  readonly headers: Record<string, string> = {};
  readonly #url: string;
  readonly #agent: Agent;

  constructor(url: string, agent: Agent) {
    this.#url = url;
    this.#agent = agent;
  }

  get(path: string, method = 'GET'): Promise<Page> {
    return this.#send(method, path, null);
  }

  /** Sends a form without adding a token; see `submit`. */
  post(path: string, fields: Fields): Promise<Page> {
    return this.#send('POST', path, new URLSearchParams(fields).toString());
  }

  /** Opens a page and sends a form with its tokens. */
  async submit(from: string, path: string, fields: Fields): Promise<Page> {
    return this.post(path, { ...hiddenTokens(await this.get(from)), ...fields });
  }

  signIn(email: string, password: string, next = '/admin/'): Promise<Page> {
    return this.submit('/admin/', '/admin/sign-in', { email, password, next });
  }

  /** The bytes of a file. */
  async download(path: string): Promise<Buffer> {
    const { body } = await this.#request('GET', path, null);
    return Buffer.from(await body.arrayBuffer());
  }

  async #send(method: string, path: string, body: string | null): Promise<Page> {
    const response = await this.#request(method, path, body);
    const html = await response.body.text();
    for (const line of [response.headers['set-cookie'] ?? []].flat()) this.#keep(line);
    return {
      status: response.statusCode,
      headers: response.headers,
      html,
      location: String(response.headers.location ?? ''),
    };
  }

  #request(method: string, path: string, body: string | null) {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    return request(this.#url + path, {
      dispatcher: this.#agent,
      method: method as 'GET',
      body,
      headers: {
        ...(cookie && { cookie }),
        ...(body !== null && { 'content-type': 'application/x-www-form-urlencoded' }),
        ...this.headers,
      },
    });
  }

  #keep(line: string): void {
    const [pair = '', ...attributes] = line.split(/;\s*/);
    const [name = '', value = ''] = pair.split('=');
    const gone = attributes.some((attribute) => /^max-age=0$|^expires=thu, 01 jan 1970/i.test(attribute));
    if (gone) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}

export function tokenOf({ html }: Page): string {
  return /name="_csrf" value="([^"]+)"/.exec(html)?.[1] ?? '';
}

/** The CSRF token and the idempotency token of the first form on a page that has them. */
export function hiddenTokens(page: Page): Fields {
  const [, once] = /name="_idempotency" value="([^"]+)"/.exec(page.html) ?? [];
  return { _csrf: tokenOf(page), ...(once && { _idempotency: once }) };
}

/** The visible text of a page. */
export const wordsOf = ({ html }: Page): string =>
  html
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
