/**
 * The account pages for a test file: real Redis or cluster, fixture snapshot, gateway on a free port, worker, and a
 * mailbox behind a real SMTP server.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster } from 'ioredis';
import { Agent } from 'undici';
import { vi } from 'vitest';
import type { RedisClient } from '../../../../data/runtime/redis.ts';
import { readSettings, type Settings } from '../../../../data/runtime/settings.ts';
import { RedisMetering } from '../../../../gateway/api/metering/redis-metering.ts';
import { buildApp } from '../../../../gateway/app.ts';
import { AccountStore } from '../../../../gateway/commerce/accounts/account-store.ts';
import type { GivenRole } from '../../../../gateway/commerce/accounts/member-store.ts';
import { founderOf, ownAccountOf } from '../../../../gateway/commerce/accounts/person-store.ts';
import type { ServedEditions } from '../../../../gateway/commerce/notifications/alerts/change-alerts.ts';
import { type JobHandlers, openQueue } from '../../../../gateway/commerce/notifications/jobs/queue.ts';
import { createMailer, type Mailer } from '../../../../gateway/commerce/notifications/mail/mailer.ts';
import { readPacks } from '../../../../gateway/commerce/orders/order-store.ts';
import type { AccountContext } from '../../../../gateway/commerce/pages/context.ts';
import { createAccountContext } from '../../../../gateway/commerce/pages/plugin.ts';
import { PasswordHasher } from '../../../../gateway/commerce/people/passwords.ts';
import { openAccountService } from '../../../../gateway/commerce/service.ts';
import { type Page, Visitor } from '../../../admin/harness.ts';
import { stopAfterTests } from '../../../after-tests.ts';
import { silentLog, startRedis, startRedisCluster } from '../../../redis.ts';
import { publishFixture } from '../../fixture-snapshot.ts';
import { openSnapshots } from '../../open-snapshots.ts';
import { Mailbox } from './mailbox.ts';
import { startSmtpSink } from './smtp-sink.ts';

/** Midday, so that no test crosses a UTC day. */
export const NOON = Date.UTC(2026, 10, 21, 12, 0, 20);
export const PASSWORD = 'correct horse battery staple';

/** The key that a page shows; empty without one. */
export const keyIn = ({ html }: Page): string =>
  /alm_live_[0-9a-z]{12}_[0-9A-Za-z]{40}/.exec(html)?.[0] ?? '';

/** Hashes at the lowest cost. `commerce/passwords.test.ts` and `deployments.test.ts` test the product's own hashing. */
const cheapPasswords = () => new PasswordHasher(16);

interface SomeRedis {
  url: string;
  connect(): Promise<RedisClient>;
  stop(): Promise<void>;
}

export interface AccountPagesOptions {
  /** Default: the fixture. */
  snapshots?: string;
  settings?: Record<string, string>;
  cluster?: boolean;
  /** Hashes passwords at the product's own cost. */
  fullHashing?: boolean;
  /** Editions whose changes are told; default none. */
  served?: ServedEditions;
  /** A Redis that is started, and stopped, by the test. */
  redis?: SomeRedis;
  /** Where it listens; default: a free port. With it, `PUBLIC_URL` is its address. */
  port?: number;
}

export interface Customer {
  account_id: string;
  person_id: string;
  email: string;
  visitor: Visitor;
}

export class AccountPagesHarness {
  declare readonly url: string;
  declare readonly routes: readonly { method: string; url: string }[];
  declare readonly redis: RedisClient;
  declare readonly accounts: AccountStore;
  declare readonly context: AccountContext;
  declare readonly handlers: JobHandlers;
  declare readonly mailbox: Mailbox;
  declare readonly metering: RedisMetering;
  declare readonly settings: Settings;
  /** The clock of the service. */
  declare readonly clock: { ms: number };
  readonly #agent = new Agent({ connections: 32 });
  readonly #stop: () => Promise<void>;
  #customers = 0;
  #visitors = 0;

  /** @param parts all that is declared above */
  constructor(parts: Partial<AccountPagesHarness>, stop: () => Promise<void>) {
    Object.assign(this, parts);
    this.#stop = stop;
  }

  /** Each visitor has its own IP address, so that tests do not throttle each other. */
  visitor(): Visitor {
    const visitor = new Visitor(this.url, this.#agent);
    this.#visitors += 1;
    visitor.headers['x-forwarded-for'] = `10.1.${this.#visitors >> 8}.${this.#visitors & 255}`;
    return visitor;
  }

  /** A call to the API with a key. */
  async call(key: string, path = '/v1/countries/KEN'): Promise<{ status: number; json: unknown }> {
    const response = await fetch(this.url + path, { headers: { authorization: `Bearer ${key}` } });
    return { status: response.status, json: await response.json() };
  }

  /** A signed-in account, made without jobs and with one form only. */
  async customer(name = 'Ann'): Promise<Customer> {
    const email = this.#freshEmail();
    const visitor = this.visitor();
    const signUp = () => this.handlers['sign-up']({ email, name });
    await this.confirm(visitor, await this.linkMailed(email, signUp));
    const candidate = await this.context.persons.findLogin(email);
    if (!candidate) throw new Error(`${email} cannot sign in`);
    return { account_id: ownAccountOf(candidate.subject), person_id: candidate.subject, email, visitor };
  }

  /** A signed-in account, made over the pages alone: sign-up and confirmation. */
  async register(name = 'Ann'): Promise<Customer> {
    const email = this.#freshEmail();
    const visitor = this.visitor();
    await this.confirm(visitor, await this.signUp(visitor, email, name));
    const { account_id } = await this.accounts.findByEmail(email);
    return { account_id, person_id: founderOf(account_id), email, visitor };
  }

  #freshEmail(): string {
    this.#customers += 1;
    return `person-${this.#customers}-${NOON}@example.org`;
  }

  /** Signs up over the page. @returns the path of the mailed link */
  signUp(visitor: Visitor, email: string, name = 'Ann'): Promise<string> {
    return this.linkMailed(email, async () => {
      const page = await visitor.submit('/account/sign-up', '/account/sign-up', { email, name });
      if (page.status !== 200) throw new Error(`sign-up returned ${page.status}`);
    });
  }

  /** Opens a mailed link and chooses a password. */
  confirm(visitor: Visitor, link: string, password = PASSWORD): Promise<Page> {
    return visitor.submit(link, link, { password });
  }

  /** The path of the link that is mailed to an address by what is done. */
  async linkMailed(email: string, work: () => Promise<unknown>): Promise<string> {
    const mail = this.mailbox.next(email);
    await work();
    return this.pathOf((await mail).link);
  }

  /** Invites somebody over the page. @returns the path of the mailed link */
  invite({ visitor }: Customer, email: string, role: GivenRole): Promise<string> {
    return this.linkMailed(email, async () => {
      const page = await visitor.submit('/account/members', '/account/members/invite', { email, role });
      if (page.status !== 303) throw new Error(`the invitation returned ${page.status}`);
    });
  }

  /** A new person who is let into the account and signs in, all over the pages. */
  async guest(owner: Customer, role: GivenRole): Promise<Customer> {
    const email = this.#freshEmail();
    const link = await this.invite(owner, email, role);
    const visitor = this.visitor();
    const accepted = await visitor.submit(link, link, { name: 'Guest', password: PASSWORD });
    if (accepted.status !== 200) throw new Error(`accepting the invitation returned ${accepted.status}`);
    const signedIn = await this.signIn(visitor, email);
    if (signedIn.status !== 303) throw new Error(`signing in returned ${signedIn.status}`);
    const person = await this.context.persons.findByEmail(email);
    return { account_id: owner.account_id, person_id: person?.person_id ?? '', email, visitor };
  }

  /** Asks for a copy of the data over the page and waits for its mail. @returns the path of the file */
  async exported({ account_id, email, visitor }: Customer): Promise<string> {
    const ready = this.mailbox.next(email, /Your data is ready/);
    await visitor.submit('/account/data', '/account/data/export', {});
    await ready;
    const all = await this.context.requests.listOf(account_id);
    return `/account/data/${all.findLast(({ kind }) => kind === 'export')?.request_id}/download`;
  }

  /** Carries out an erasure, as asked for before or now. */
  async erase(account_id: string) {
    const { request_id } = await this.context.requests.open(account_id, 'erasure');
    return this.context.privacy.erasures.erase(request_id, { by: 'test' });
  }

  signIn(visitor: Visitor, email: string, password = PASSWORD): Promise<Page> {
    return visitor.submit('/account/sign-in', '/account/sign-in', { email, password, next: '/account/' });
  }

  /** Does what the nightly job does. Resolves when the worker has carried out every erasure that is ready. */
  async runErasures(): Promise<void> {
    await this.handlers.erase({});
    await vi.waitUntil(async () => (await this.context.privacy.listErasable()).length === 0, 10_000);
  }

  /** Resolves when no account job waits or runs. */
  async settled(): Promise<void> {
    const queue = openQueue(this.redis, 'account');
    const count = () => queue.getJobCountByTypes('waiting', 'active', 'delayed');
    await vi.waitUntil(async () => (await count()) === 0, 10_000);
    await queue.close();
  }

  /** Creates a key over the page. `key` is empty when it was rejected. */
  async makeKey(
    { visitor }: Customer,
    fields: Record<string, string> = {},
  ): Promise<{ page: Page; key: string }> {
    const page = await visitor.submit('/account/keys', '/account/keys', {
      label: '',
      expires: '',
      ...fields,
    });
    return { page, key: keyIn(page) };
  }

  /** All Redis keys, on all nodes of a cluster. */
  async allKeys(): Promise<string[]> {
    const nodes = this.redis instanceof Cluster ? this.redis.nodes('master') : [this.redis];
    return (await Promise.all(nodes.map((node) => node.keys('*')))).flat();
  }

  /** Redis keys whose name or value contains the word, with their values. */
  async keysContaining(word: string): Promise<Record<string, unknown>> {
    const found: Record<string, unknown> = {};
    for (const key of await this.allKeys()) {
      const read = {
        string: () => this.redis.get(key),
        hash: () => this.redis.hgetall(key),
        zset: () => this.redis.zrange(key, '0', '-1', 'WITHSCORES'),
        stream: () => this.redis.xrange(key, '-', '+'),
        list: () => this.redis.lrange(key, 0, -1),
      }[await this.redis.type(key)];
      const value = await read?.();
      if (`${key} ${JSON.stringify(value)}`.includes(word)) found[key] = value;
    }
    return found;
  }

  pathOf(link: string | null): string {
    return (link ?? '').slice(this.url.length);
  }

  async balance(account_id: string): Promise<number> {
    return (await this.accounts.get(account_id)).credits.balance;
  }

  async stop(): Promise<void> {
    await this.#agent.close();
    await this.#stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/** Rate limits that tests do not reach. */
const WIDE = {
  TRUST_PROXY: '127.0.0.1',
  FREE_PER_MINUTE: '100000',
  PAID_PER_MINUTE: '100000',
  FREE_GRANTS_PER_RANGE: '100000',
  FREE_GRANTS_PER_DOMAIN: '100000',
};

/** Without these, orders by invoice are not taken. */
const SELLER = { INVOICE_FROM: 'Example Ltd', INVOICE_PAY_TO: 'IBAN XX00 0000' };

export async function startAccountPages(options: AccountPagesOptions = {}): Promise<AccountPagesHarness> {
  const directory = await mkdtemp(join(tmpdir(), 'alm-account-'));
  if (options.snapshots === undefined) await publishFixture(directory);
  const server = options.redis ?? (await (options.cluster ? startRedisCluster() : startRedis()));
  const redis = await server.connect();
  const clock = { ms: NOON };
  const now = (): number => clock.ms;
  const settings = readSettings({
    LOG_LEVEL: 'silent',
    VAR_DIR: directory,
    REDIS_URL: server.url,
    REDIS_CLUSTER: options.cluster ? 'true' : 'false',
    ...WIDE,
    ...SELLER,
    ...(options.port !== undefined && { PUBLIC_URL: `http://127.0.0.1:${options.port}` }),
    ...options.settings,
  });
  const snapshots = await openSnapshots(options.snapshots ?? directory);
  const metering = new RedisMetering({ redis, settings, now, log: silentLog });
  const packs = await readPacks(settings.CURATED_DIR);
  const mailbox = new Mailbox();
  const sink = await startSmtpSink({ receive: (mail) => mailbox.send(mail) });
  const mailer: Mailer = {
    // The server greets a new connection after 0.1 s, so connections are kept.
    ...createMailer({ ...settings, SMTP_URL: `${sink.url}?pool=true` }, { now, log: silentLog }),
    deleteFor: (address) => mailbox.deleteFor(address),
  };
  const listening = { url: '' };
  const service = await openAccountService({
    settings,
    redis,
    now,
    log: silentLog,
    publicUrl: () => listening.url,
    ...(options.served && { served: options.served }),
    ...(settings.SMTP_URL === undefined && { mailer }),
    ...(!options.fullHashing && { passwords: cheapPasswords() }),
  });
  let requests = 0;
  const routes: { method: string; url: string }[] = [];
  const app = buildApp({
    settings,
    metering,
    snapshots,
    now,
    log: silentLog,
    randomId: () => `test-${requests++}`,
    account: service,
    onRoute: (route) => routes.push(route),
  });
  await app.listen({ port: options.port ?? 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  listening.url = `http://127.0.0.1:${port}`;
  // Tests run the sweep and the nightly run themselves, so nothing is scheduled.
  service.startWorker();
  const accounts = new AccountStore({ redis, now, random: randomBytes, packs });
  const stop = async (): Promise<void> => {
    await app.close();
    await service.stop();
    await sink.stop();
    await snapshots.close();
    if (!options.redis) await server.stop();
    await rm(directory, { recursive: true, force: true });
  };
  const parts = { routes, redis, accounts, mailbox, metering, settings, clock, handlers: service.handlers };
  const harness = { url: listening.url, context: createAccountContext(service), ...parts };
  return new AccountPagesHarness(harness, stop);
}

/** Stopped after the tests of the file or suite. */
export const useAccountPages = (options?: AccountPagesOptions): Promise<AccountPagesHarness> =>
  stopAfterTests(startAccountPages(options));
