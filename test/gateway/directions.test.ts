/** A URL that was seen before is answered without the framework: nobody may be able to tell. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Answer as Answering } from '../../gateway/http/admission.ts';
import { UrlRouteCache } from '../../gateway/http/url-route-cache.ts';
import { PUBLIC_ROUTES } from './public-routes.ts';
import { type Answer, codeOf, Service, type TestKey } from './service.ts';

let service: Service;
let owner: TestKey;
let lines: Record<string, unknown>[] = [];
beforeAll(async () => {
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  service = await Service.start({ log, settings: { TRUST_PROXY: '127.0.0.1', ANONYMOUS_PER_MINUTE: '3' } });
  owner = await service.account({ credits: 100_000 });
});
afterAll(() => service.stop());

/** Each is another's in any two answers: when, which, and where the caller stands after one call more. */
const ITS_OWN = ['date', 'x-request-id', 'x-credits-remaining', 'x-ratelimit-remaining'];
const rest = ({ status, headers, bytes }: Answer) => {
  const same = Object.entries(headers).filter(([name]) => !ITS_OWN.includes(name));
  return { status, headers: Object.fromEntries(same), body: bytes.toString('latin1') };
};

/** A parameter that no route knows makes a URL that nobody has asked for. */
let urls = 0;
const unseen = (path: string): string => `${path}${path.includes('?') ? '&' : '?'}unseen=${urls++}`;

const paths = fc.oneof(
  fc.constantFrom(...PUBLIC_ROUTES.map(({ path }) => path)),
  fc.constantFrom(
    ...['/v1/countries/ken', '/v1/countries/XXX', '/v1/countries/K%45N', '/v1/indicators/none'],
    ...['/v1/indicators?q=life', '/v1/indicators?sort=up', '/v1/indicators?limit=x', '/v1/indicators?q=%FF'],
    ...['/v1/data', '/v1/data?indicator=alpha.life_expectancy&from=2001&to=2000', '/v1/rankings/none'],
    ...['/v1/data?indicator=beta.long_series&countries=KEN,UGA&format=csv', '/data/api/v1/topics'],
  ),
);
const headersOf = fc.record(
  {
    'accept-encoding': fc.constantFrom('br', 'gzip', 'zstd', 'identity', 'br;q=0, gzip'),
    'if-none-match': fc.constantFrom('*', '"other"'),
    authorization: fc.constantFrom('good', 'bad', ''),
  },
  { requiredKeys: [] },
);

test('later answers to a URL are the first one again, whatever it says, and cost what that cost', async () => {
  let callers = 0;
  await fc.assert(
    fc.asyncProperty(paths, headersOf, async (path, { authorization, ...sent }) => {
      const key = authorization === 'good' ? owner.key : authorization;
      const headers = { ...sent, 'x-forwarded-for': `198.51.${callers >> 8}.${callers++ & 255}` };
      const url = unseen(path);
      const ask = () => service.get(url, { headers, ...(key !== undefined && { key }) });
      const balances = [await service.balance(owner)];
      const answers: Answer[] = [];
      // The second is kept, and the third is what was kept.
      for (let time = 0; time < 3; time++) {
        answers.push(await ask());
        balances.push(await service.balance(owner));
      }
      const [first, ...later] = answers.map(rest);
      const costs = balances.slice(1).map((balance, at) => (balances[at] ?? 0) - balance);
      for (const answer of later) {
        // What an account has used is another thing after a call more.
        if (path !== '/v1/usage' && path !== '/v1/ping') expect(answer).toEqual(first);
        else expect(answer.status).toBe(first?.status);
      }
      expect(new Set(costs).size).toBe(1);
    }),
    { numRuns: 150 },
  );
});

test('whatever others asked for at a URL, each answer is that of a URL that nobody has asked for', async () => {
  let callers = 0;
  await fc.assert(
    fc.asyncProperty(paths, fc.array(headersOf, { minLength: 2, maxLength: 8 }), async (path, askers) => {
      const shared = unseen(path);
      for (const { authorization, 'if-none-match': wanted, ...sent } of askers) {
        const key = authorization === 'good' ? owner.key : authorization;
        const ask = (url: string, more = {}) => {
          const address = `198.18.${callers >> 8}.${callers++ & 255}`;
          return service.get(url, {
            headers: { ...sent, ...more, 'x-forwarded-for': address },
            ...(key !== undefined && { key }),
          });
        };
        // Half of those who have something have this very answer.
        const tag = wanted === '*' ? (await ask(unseen(path))).headers.etag : wanted;
        const having = typeof tag === 'string' ? { 'if-none-match': tag } : {};
        const [answer, alone] = [await ask(shared, having), await ask(unseen(path), having)].map(rest);
        if (path !== '/v1/usage' && path !== '/v1/ping') expect(answer).toEqual(alone);
        else expect(answer?.status).toBe(alone?.status);
      }
    }),
    { numRuns: 100 },
  );
});

test('a free answer is kept ready once its URL is asked for again, and one that is paid for never', async () => {
  const wishes = { acceptEncoding: undefined, ifNoneMatch: undefined, tagged: true };
  const isKept = (url: string) => service.snapshots.current()?.free.find(url, wishes) !== null;
  const seen: [string, boolean[]][] = [];
  for (const path of ['/v1/topics', '/v1/indicators?q=life', '/v1/countries/KEN']) {
    const url = unseen(path);
    const kept: boolean[] = [];
    for (let time = 0; time < 3; time++) {
      await service.get(url, { key: owner.key });
      kept.push(isKept(url));
    }
    seen.push([path, kept]);
  }
  expect(seen).toEqual([
    ['/v1/topics', [false, true, true]],
    ['/v1/indicators?q=life', [false, true, true]],
    ['/v1/countries/KEN', [false, false, false]],
  ]);
});

test('URLs that differ in one character lead to answers of their own', async () => {
  const lengths: number[] = [];
  for (let time = 0; time < 4; time++) {
    const headers = { 'x-forwarded-for': `203.0.113.${time}` };
    for (const limit of [1, 2]) {
      const { json } = await service.get(`/v1/indicators?limit=${limit}`, { headers });
      lengths.push(json.data.length);
    }
  }
  expect(lengths).toEqual([1, 2, 1, 2, 1, 2, 1, 2]);
});

test('other methods on it are still refused', async () => {
  const url = unseen('/v1/topics');
  await service.get(url);
  for (const method of ['POST', 'PUT', 'DELETE', 'HEAD']) {
    const answer = await service.get(url, { method });
    expect([method, answer.status, answer.headers.allow]).toEqual([method, 405, 'GET']);
  }
});

test('the rate is counted for who asks, the caller behind a trusted proxy', async () => {
  const url = unseen('/v1/topics');
  const from = (address: string) => service.get(url, { headers: { 'x-forwarded-for': address } });
  const statuses: number[] = [];
  for (let call = 0; call < 5; call++) statuses.push((await from('203.0.113.7')).status);
  expect(statuses).toEqual([200, 200, 200, 429, 429]);
  expect((await from('203.0.113.8')).status).toBe(200);
});

test('a key that is revoked is seen at once', async () => {
  const account = await service.account();
  const url = unseen('/v1/countries/KEN');
  expect((await service.get(url, { key: account.key })).status).toBe(200);
  expect((await service.get(url, { key: account.key })).status).toBe(200);
  await service.accounts.keys.revoke(account.key_id);
  expect((await service.get(url, { key: account.key })).status).toBe(401);
  expect(codeOf(await service.get(url))).toBe('unauthorized');
});

test('its id is the one that was sent, and it is logged and counted like any other', async () => {
  const account = await service.account();
  const url = unseen('/v1/rankings/alpha.life_expectancy');
  lines = [];
  const ids = ['first', 'second', 'third'];
  for (const id of ids) {
    const answer = await service.get(url, { key: account.key, headers: { 'x-request-id': id } });
    expect(answer.headers['x-request-id']).toBe(id);
  }
  const told = () => lines.filter(({ request_id }) => ids.includes(String(request_id)));
  await expect.poll(() => told().length).toBe(3);
  const same = { method: 'GET', route: '/v1/rankings/{indicator}', status: 200, key_id: account.key_id };
  for (const line of told()) expect(line).toMatchObject(same);
  for (const line of told()) expect(line.duration_ms).toBeGreaterThan(0);
  const counted = 'almanac_credits_charged_total{route="/v1/rankings/{indicator}"}';
  const credits = (text: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(counted))
        ?.split(' ')[1],
    );
  const before = credits(await service.metrics.text());
  await service.get(url, { key: account.key });
  await expect.poll(async () => credits(await service.metrics.text())).toBe(before + 1);
});

/** A server with one way on it, and how often the framework and the way were asked. */
async function standing() {
  const asked = { framework: 0, known: 0 };
  const server = createServer((_request, response) => {
    asked.framework++;
    response.end();
  });
  const directions = new UrlRouteCache({ requestId: () => 'id', observe: null });
  const answer: Answering = (_request, response) => {
    asked.known++;
    response.end();
    return { route: '/', keyId: null, creditsCharged: 0 };
  };
  const note = (url: string) =>
    directions.note(url, answer, { path: {}, query: {}, reading: null, isAskedAgain: false });
  const noteTwice = (url: string) => {
    note(url);
    note(url);
  };
  directions.standBefore(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const get = (url: string) => fetch(`http://127.0.0.1:${port}${url}`);
  return { asked, directions, note, noteTwice, get, stop: () => server.close() };
}

test('once the server closes every request goes through the framework, which says so to callers', async () => {
  const { asked, directions, noteTwice, get, stop } = await standing();
  noteTwice('/known');
  await get('/known');
  expect(asked).toEqual({ framework: 0, known: 1 });
  directions.close();
  await get('/known');
  expect(asked).toEqual({ framework: 1, known: 1 });
  stop();
});

test('URLs that were asked for once, very long ones, and more than a bounded number of them, are not kept', async () => {
  const { asked, note, noteTwice, get, stop } = await standing();
  note('/once');
  await get('/once');
  expect(asked).toEqual({ framework: 1, known: 0 });
  const long = `/known?${'a'.repeat(600)}`;
  noteTwice(long);
  await get(long);
  expect(asked).toEqual({ framework: 2, known: 0 });
  noteTwice('/first');
  for (let other = 0; other < 10_000; other++) noteTwice(`/${other}`);
  await get('/first');
  expect(asked).toEqual({ framework: 3, known: 0 });
  await get('/9999');
  expect(asked).toEqual({ framework: 3, known: 1 });
  stop();
});
