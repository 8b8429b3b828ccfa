/** Repeated URLs are answered from the response cache; no answer may differ from that to a new URL. */
import fc from 'fast-check';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { PUBLIC_ROUTES } from '../../public-routes.ts';
import { type Answer, useService } from '../../service.ts';

let lines: Record<string, unknown>[] = [];
const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
const service = await useService({ log, settings: { TRUST_PROXY: '127.0.0.1', ANONYMOUS_PER_MINUTE: '3' } });
const owner = await service.account({ credits: 100_000 });

/** Headers whose values differ between any two answers: of these, only that they are there is compared. */
const PER_ANSWER = ['date', 'x-request-id', 'x-credits-remaining', 'x-ratelimit-remaining', 'ratelimit'];
const rest = ({ status, headers, bytes }: Answer) => {
  const same = Object.entries(headers).map(([name, value]) => [name, PER_ANSWER.includes(name) || value]);
  return { status, headers: Object.fromEntries(same), body: bytes.toString('latin1') };
};

/**
 * A URL that was never requested: a parameter that is ignored makes it unique, and escaped letters those of its characters
 * that a cached answer is found by.
 */
let urls = 0;
function unseen(path: string): string {
  const number = urls++;
  const [resource = '', query] = path.split('?', 2);
  const spelt = [...resource].map((letter, at) =>
    /[a-z]/.test(letter) && (number >> (at % 16)) & 1
      ? `%${letter.charCodeAt(0).toString(16).toUpperCase()}`
      : letter,
  );
  return `${spelt.join('')}?${query === undefined ? '' : `${query}&`}token=${number}`;
}

const paths = fc.oneof(
  // What a lease makes free has another price when it is repeated.
  fc.constantFrom(...PUBLIC_ROUTES.filter(({ isFile }) => !isFile).map(({ path }) => path)),
  fc.constantFrom(
    ...['/v1/countries/ken', '/v1/countries/ZZZ', '/v1/countries/K%45N', '/v1/indicators/none'],
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

test('repeated requests for a URL get the same answer at the same price', async () => {
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

test('requests of other callers for a URL do not change an answer', async () => {
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

test('a cached URL is counted against the caller behind a trusted proxy', async () => {
  const url = unseen('/v1/topics');
  const from = (address: string) => service.get(url, { headers: { 'x-forwarded-for': address } });
  const statuses: number[] = [];
  for (let call = 0; call < 5; call++) statuses.push((await from('203.0.113.7')).status);
  expect(statuses).toEqual([200, 200, 200, 429, 429]);
  expect((await from('203.0.113.8')).status).toBe(200);
});

test('a cached URL echoes the request id, is logged and is counted in metrics', async () => {
  const account = await service.account();
  const url = unseen('/v1/rankings/alpha.life_expectancy');
  lines = [];
  const ids = ['first', 'second', 'third'];
  for (const id of ids) {
    const answer = await service.get(url, { key: account.key, headers: { 'x-request-id': id } });
    expect(answer.headers['x-request-id']).toBe(id);
  }
  const told = () => lines.filter(({ client_request_id: id }) => ids.includes(String(id)));
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
