/**
 * One attacker with 32 connections at each kind of endpoint, and customers who pay beside it, from another address. The
 * service has its default settings. It runs on one core, attacker and customers on the other.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Agent } from 'undici';
import { SnapshotStorage } from '../../build/editions/snapshot-storage.ts';
import type { AccountStore } from '../../gateway/commerce/accounts/account-store.ts';
import { hiddenTokens, Visitor } from '../admin/harness.ts';
import { type Call, requestText } from '../bench/http-client.ts';
import { type ForkedTask, forkTask, type Gateway } from '../bench/processes.ts';
import { buildStarter } from '../shared-builds.ts';
import type { AttackJob, AttackResult } from './attacker.ts';
import { withSeparateCores } from './cpu-affinity.ts';
import { createCustomers, DEFAULT_LIMITS, Deployment, storeOn } from './deployment.ts';
import { copyEditions } from './edition-copies.ts';
import type { OpenLoopJob, OpenLoopResult, Second } from './open-loop.ts';
import type { Reporter } from './table.ts';

export interface OneAttackerScale {
  /** How long customers are measured without the attacker, and beside it. */
  alone_ms: number;
  beside_ms: number;
  /** Connections of attacks that hold them. */
  held: number;
}

const FULL: OneAttackerScale = { alone_ms: 6_000, beside_ms: 6_000, held: 2_000 };
const CONNECTIONS = 32;
const EDITIONS = 30;
/** Different requests of an attack. */
const REQUESTS = 2_000;
/** Calls a second of all customers, each within the limit of its tier. */
const RATE = 100;
const CUSTOMERS = 20;
const PATIENCE_MS = 15_000;
/** A row is tried so often: other work on the machine delays calls, too. */
const TRIES = 3;
const P99_FACTOR_MAX = 2;
const P99_ADDED_MAX_MS = 50;
/** Requests that an address may make in the two minutes that an attack touches. */
const MESSAGES_MAX = 2 * 30;
/** Connections that an address may have at `/mcp`. */
const HELD_MAX = 256;
/** What a free account begins with. */
const FREE_CREDITS = 1_000;
/** The connections of an attacker end with the attack; what it asked for does not. */
const REST_MS = 500;

/** What an attacker knows. */
interface Target {
  indicators: string[];
  editions: string[];
  /** The key of an account that never paid. */
  key: string;
  /** The cookies of a browser that opened a page with a form. */
  cookie: string;
  csrf: string;
}

interface Attack extends Pick<AttackJob, 'drip' | 'counted'> {
  /** Completes the promise. */
  name: string;
  connections?: number | 'held';
  texts: (target: Target) => string[];
  /** What its answers must be, besides. */
  answers?: { promise: string; isKept: (result: AttackResult) => boolean };
}

const many = <Item>(make: (number: number) => Item): Item[] =>
  Array.from({ length: REQUESTS }, (_, number) => make(number));
const gets = (path: (number: number) => string, headers: Record<string, string> = {}): string[] =>
  many((number) => requestText({ path: path(number), headers }));
const pick = (items: readonly string[], number: number): string => items[number % items.length] ?? '';
const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const formText = (path: string, body: string, cookie = ''): string =>
  requestText({ path, headers: { ...FORM, cookie }, body });

const CHUNKED = `POST /account/sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${FORM['content-type']}\r\nTransfer-Encoding: chunked\r\n\r\n`;

/** The revision that had batches, and one that dropped them. */
const WITH_BATCHES = '2025-03-26';
const WITHOUT_BATCHES = '2025-06-18';
const mcpText = (revision: string, body: unknown): string => {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': revision,
  };
  return requestText({ path: '/mcp', headers, body: JSON.stringify(body) });
};
const message = (id: number, method: string, params: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});
const batch = Array.from({ length: 20 }, (_, id) => message(id, 'tools/list'));
const find = (number: number) =>
  message(1, 'tools/call', { name: 'find_indicators', arguments: { query: `health ${number}` } });
const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };

const only =
  (...statuses: string[]) =>
  ({ statuses: seen, waiting }: AttackResult): boolean =>
    Object.keys(seen).length > 0 &&
    Object.keys(seen).every((status) => statuses.includes(status)) &&
    waiting <= CONNECTIONS;

const ATTACKS: readonly Attack[] = [
  {
    name: 'two forms of 64 KB of `a&` at a time',
    connections: 2,
    texts: () => [formText('/account/sign-in', 'a&'.repeat(32_000))],
    answers: { promise: 'Forms of more than 1,000 fields are 400', isKept: only('400') },
  },
  {
    name: 'queries of 15 KB of `a&`',
    texts: () =>
      ['/v1/indicators', '/', '/account/sign-in'].map((path) =>
        requestText({ path: `${path}?${'a&'.repeat(7_500)}` }),
      ),
    answers: { promise: 'Queries of more than 1,000 parameters are 400', isKept: only('400') },
  },
  {
    name: 'forms to sign in, to sign up and for a new password',
    texts: ({ cookie, csrf }) =>
      many((number) => {
        const path = pick(['/account/sign-in', '/account/sign-up', '/account/reset'], number);
        const email = `attacker-${number}%40example.org`;
        return formText(path, `_csrf=${csrf}&email=${email}&password=not+the+password&next=`, cookie);
      }),
  },
  {
    name: 'pages with forms',
    texts: () => gets((number) => pick(['/account/sign-in', '/account/sign-up', '/admin/'], number)),
  },
  {
    name: 'MCP calls of tools',
    texts: () => many((number) => mcpText(WITHOUT_BATCHES, find(number))),
  },
  {
    name: 'MCP lists of tools',
    texts: () => [mcpText(WITHOUT_BATCHES, message(1, 'tools/list'))],
  },
  {
    name: 'MCP batches of 20 messages',
    texts: () => [mcpText(WITH_BATCHES, batch)],
    counted: '"result"',
    answers: {
      promise: 'Each message of an MCP batch counts in the window of its address',
      isKept: ({ count }) => count > 0 && count <= MESSAGES_MAX,
    },
  },
  {
    name: 'MCP batches in a revision of the protocol without them',
    texts: () => [mcpText(WITHOUT_BATCHES, batch)],
    answers: {
      promise: 'MCP batches are refused in revisions of the protocol without them',
      isKept: only('400', '429'),
    },
  },
  {
    name: 'two thousand MCP batches that cancel their own calls',
    connections: 'held',
    texts: () => [mcpText(WITH_BATCHES, [find(1), cancelled])],
    answers: {
      promise: 'MCP batches that cancel their own calls are answered',
      isKept: ({ waiting }) => waiting === 0,
    },
  },
  {
    name: 'two thousand unfinished requests at `/mcp`',
    connections: 'held',
    texts: () => [mcpText(WITHOUT_BATCHES, find(1)).slice(0, -1)],
    answers: {
      promise: 'An address has at most 256 connections at `/mcp`',
      isKept: ({ waiting }) => waiting <= HELD_MAX,
    },
  },
  {
    name: 'searches',
    texts: () =>
      gets((number) => {
        const words = `${pick(['health', 'gdp', 'life', 'child'], number)}+${number}`;
        return pick(['/v1/indicators?limit=500&q=', '/indicators?q=', '/suggest?q='], number) + words;
      }),
  },
  {
    name: 'pages that nobody asked for before',
    texts: ({ indicators }) =>
      gets((number) => {
        const [one, other] = [pick(indicators, number), pick(indicators, 7 * number + 1)];
        return pick(
          [`/indicators/${one}?year=${1990 + (number % 30)}`, `/compare?indicators=${one},${other}`],
          number,
        );
      }),
  },
  {
    name: 'pictures that nobody asked for before',
    texts: ({ indicators }) =>
      gets((number) => {
        const [one, other] = [pick(indicators, number), pick(indicators, 7 * number + 1)];
        return pick(
          [
            `/indicators/${one}/map.png?year=${1990 + (number % 30)}`,
            `/compare/scatter.png?indicators=${one},${other}`,
            `/indicators/${one}/map.svg?year=${1990 + (number % 30)}`,
          ],
          number,
        );
      }),
  },
  {
    name: 'earlier editions',
    texts: ({ indicators, editions, key }) =>
      many((number) => {
        const asOf = `as_of=${pick(editions, number)}`;
        const one = pick(indicators, number);
        const [path, headers] =
          number % 2 === 0
            ? [`/v1/indicators?${asOf}&q=${number}`, {}]
            : [`/v1/data?indicator=${one}&${asOf}`, bearer(key)];
        return requestText({ path, headers });
      }),
  },
  {
    name: 'whole files',
    texts: ({ indicators, key }) =>
      gets((number) => `/v1/files/${pick(indicators, number)}.parquet`, bearer(key)),
  },
  {
    name: 'whole indicators',
    texts: ({ indicators, key }) =>
      gets((number) => `/v1/data?indicator=${pick(indicators, number)}&format=xlsx`, bearer(key)),
  },
  {
    name: 'lists and descriptions',
    texts: () =>
      gets((number) =>
        pick(['/v1/countries', '/v1/topics', '/openapi.json', '/catalog.jsonld', '/llms.txt'], number),
      ),
  },
  {
    name: 'bodies whose chunks are malformed',
    texts: () => [`${CHUNKED}3\r\na=b\r\nzz\r\n`],
    answers: { promise: 'Bodies whose chunks are malformed are 400', isKept: only('400') },
  },
  {
    name: 'chunks of one byte, a hundred a second on each connection',
    texts: () => [CHUNKED],
    drip: { text: '1\r\na\r\n', every_ms: 10 },
  },
  {
    name: 'halves of requests',
    texts: () => ['GET /v1/topics HTTP/1.1\r\nHost: localh', CHUNKED.slice(0, -4)],
  },
];

const besideIt = ({ name }: Attack): string =>
  `Paid calls beside ${name}: none is refused, p99 at most twice that alone and 50 ms`;

export const PROMISES: readonly string[] = ATTACKS.flatMap((attack) => [
  besideIt(attack),
  ...(attack.answers ? [attack.answers.promise] : []),
]);

export async function oneAttackerFaults(report: Reporter, scale: OneAttackerScale = FULL): Promise<void> {
  const { snapshots } = await buildStarter();
  await using deployment = await Deployment.open({ REDIS_URL: '' }, (directory) =>
    copyEditions(new SnapshotStorage(snapshots), directory, EDITIONS),
  );
  await using cores = await withSeparateCores(() => deployment.gateway(DEFAULT_LIMITS));
  const gateway = cores.started;
  await gateway.idle();
  const store = storeOn(await deployment.connect());
  const { data: indicators } = (await (
    await fetch(`http://127.0.0.1:${gateway.port}/v1/indicators`)
  ).json()) as { data: { id: string }[] };
  const known = {
    indicators: indicators.map(({ id }) => id),
    editions: (await new SnapshotStorage(deployment.snapshots).log()).editions.map(({ edition }) => edition),
    ...(await openForm(gateway)),
  };
  await using customers = forkTask(new URL('open-loop.ts', import.meta.url));
  await using attacker = forkTask(new URL('attacker.ts', import.meta.url));
  const requests = await paidCalls(store, known.indicators);
  const stage = { gateway, customers, attacker, requests, scale };
  for (const [number, attack] of ATTACKS.entries()) {
    const [free] = await createCustomers(store, 1, FREE_CREDITS);
    await beside(report, stage, attack, { ...known, key: free?.key ?? '' }, number + 1);
  }
}

interface Stage {
  gateway: Gateway;
  customers: ForkedTask;
  attacker: ForkedTask;
  /** What the customers ask for. */
  requests: string[];
  scale: OneAttackerScale;
}

/** Measures once, and again where a paid call was late: other work on the machine delays calls, too. */
async function beside(
  report: Reporter,
  stage: Stage,
  attack: Attack,
  target: Target,
  number: number,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    const { alone, attacked, result } = await measure(stage, attack, target, `127.0.${tries}.${number}`);
    const refused = attacked.refused + attacked.failed;
    const isKept =
      alone.refused + alone.failed + refused === 0 &&
      attacked.served_p99_ms <= P99_FACTOR_MAX * alone.served_p99_ms + P99_ADDED_MAX_MS;
    if (!isKept && tries < TRIES) continue;
    report(
      besideIt(attack),
      `${refused} of ${attacked.due} refused; p99 ${attacked.served_p99_ms.toFixed(0)} ms, alone ${alone.served_p99_ms.toFixed(0)} ms${tries > 1 ? ` in try ${tries}` : ''}; the attacker got ${said(result)}`,
      isKept,
    );
    const { answers, counted } = attack;
    const count = counted ? `, ${result.count} × ${counted}` : '';
    if (answers) report(answers.promise, said(result) + count, answers.isKept(result));
    return;
  }
}

async function measure(
  { gateway: { port }, customers, attacker, requests, scale }: Stage,
  { connections = CONNECTIONS, drip, counted, texts }: Attack,
  target: Target,
  from: string,
): Promise<{ alone: Second; attacked: Second; result: AttackResult }> {
  const pay = async (duration_ms: number): Promise<Second> => {
    const job = { port, requests, rate: RATE, duration_ms, connections_most: 256, patience_ms: PATIENCE_MS };
    return (await customers.ask<OpenLoopJob, OpenLoopResult>(job)).whole;
  };
  await pause(REST_MS);
  const alone = await pay(scale.alone_ms);
  const attacking = attacker.ask<AttackJob, AttackResult>({
    port,
    from,
    duration_ms: scale.beside_ms,
    texts: texts(target),
    ...(connections === 'held' ? { connections: scale.held, isHeld: true } : { connections }),
    ...(drip && { drip }),
    ...(counted && { counted }),
  });
  const attacked = await pay(scale.beside_ms);
  return { alone, attacked, result: await attacking };
}

function said({ statuses, closed, waiting, bytes }: AttackResult): string {
  const answers = Object.entries(statuses).map(
    ([status, count]) => `${count.toLocaleString('en')} × ${status}`,
  );
  return `${answers.join(', ') || 'no answer'} (${(bytes / 1e6).toFixed(1)} MB); ${closed} connections closed and ${waiting} waiting unanswered`;
}

/** Small calls of accounts that have paid. */
async function paidCalls(store: AccountStore, indicators: readonly string[]): Promise<string[]> {
  const customers = await createCustomers(store, CUSTOMERS);
  for (const { account_id } of customers) {
    const { order_id } = await store.orders.create(account_id, 'small');
    await store.orders.move(order_id, 'paid');
  }
  const countries = ['KEN,PER', 'BRA,IND,SWE', 'FRA'];
  return many((number): Call => {
    const { key } = customers[number % CUSTOMERS] ?? { key: '' };
    const path = `/v1/data?indicator=${pick(indicators, number)}&countries=${pick(countries, number)}`;
    return { path, headers: bearer(key) };
  }).map(requestText);
}

/** Cookie and token of a form. */
async function openForm({ port }: Gateway): Promise<Pick<Target, 'cookie' | 'csrf'>> {
  const agent = new Agent();
  const visitor = new Visitor(`http://127.0.0.1:${port}`, agent);
  const { _csrf: csrf = '' } = hiddenTokens(await visitor.get('/account/sign-in'));
  await agent.close();
  return { csrf, cookie: [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ') };
}
