/** A client's X-Request-Id is repeated and logged; our own id alone names the call in ledger and refunds. */
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, Service, type TestKey } from './service.ts';

let service: Service;
let owner: TestKey;
const lines: Record<string, unknown>[] = [];
beforeAll(async () => {
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  service = await Service.start({ log });
  owner = await service.account();
});
afterAll(() => service.stop());

const OWN = /^test-\d+$/;
const PATH = '/v1/countries/KEN';
const ask = (id: string | null, path = PATH): Promise<Answer> =>
  service.get(path, { key: owner.key, ...(id !== null && { headers: { 'x-request-id': id } }) });

/** Request ids of the debits, newest first. */
async function debits(): Promise<unknown[]> {
  const entries = await service.accounts.ledger(owner.account_id, { limit: 100 });
  return entries.flatMap(({ kind, cause }) =>
    kind === 'debit' && 'request_id' in cause ? [cause.request_id] : [],
  );
}

test("a client's id comes back in X-Request-Id, and ours in X-Server-Request-Id", async () => {
  for (const id of ['mine', 'x'.repeat(64)]) {
    const { headers } = await ask(id);
    expect(headers['x-request-id']).toBe(id);
    expect(headers['x-server-request-id']).toMatch(OWN);
  }
});

test('without one, or with one that is not safe to repeat, X-Request-Id is ours', async () => {
  for (const id of [null, 'two words', 'x'.repeat(65)]) {
    const { headers } = await ask(id);
    expect(headers['x-request-id']).toMatch(OWN);
    expect(headers).not.toHaveProperty('x-server-request-id');
  }
});

test('the ledger names each call by our id, however often a client repeats its own', async () => {
  const answers = await Promise.all(Array.from({ length: 10 }, () => ask('the-same')));
  const ours = answers.map(({ headers }) => headers['x-server-request-id']);
  const latest = (await debits()).slice(0, ours.length);
  expect(new Set(latest)).toEqual(new Set(ours));
  expect(new Set(ours).size).toBe(ours.length);
});

test("a client cannot put another call's id into the ledger", async () => {
  const { headers } = await ask(null);
  const copied = await ask(String(headers['x-request-id']));
  expect(copied.headers['x-request-id']).toBe(headers['x-request-id']);
  const [second, first] = await debits();
  expect(first).toBe(headers['x-request-id']);
  expect(second).toBe(copied.headers['x-server-request-id']);
  expect(second).not.toBe(first);
});

test('the log holds both', async () => {
  for (const path of [PATH, '/v1/topics', '/v1/topics', '/none']) {
    const { headers } = await ask('logged', path);
    const own = headers['x-server-request-id'];
    await expect
      .poll(() => lines.find(({ request_id }) => request_id === own))
      .toMatchObject({
        client_request_id: 'logged',
      });
  }
  const plain = await ask(null);
  const find = () => lines.find(({ request_id }) => request_id === plain.headers['x-request-id']);
  await expect.poll(find).toBeDefined();
  expect(find()).not.toHaveProperty('client_request_id');
});

test.each([
  '/v1/topics',
  PATH,
  '/v1/data?indicator=none.such',
  '/none',
  '/healthz',
  '/docs',
  '/openapi.json',
])('%s: a cached answer, an error and a page carry both, for one caller only', async (path) => {
  for (let call = 0; call < 3; call += 1) {
    const own = await service.get(path);
    expect(own.headers['x-request-id']).toMatch(OWN);
    expect(own.headers).not.toHaveProperty('x-server-request-id');
    const both = await service.get(path, { headers: { 'x-request-id': `mine-${call}` } });
    expect(both.headers['x-request-id']).toBe(`mine-${call}`);
    expect(both.headers['x-server-request-id']).toMatch(OWN);
  }
});

test('scripts of other origins may read the second header where it is sent', async () => {
  const exposed = ({ headers }: Answer) => String(headers['access-control-expose-headers']).split(', ');
  expect(exposed(await ask('mine'))).toContain('X-Server-Request-Id');
});
