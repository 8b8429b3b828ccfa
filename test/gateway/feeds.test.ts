/**
 * Feed links over HTTP, on real Redis and Parquet: who makes them, what they serve, what they cost over the nights, and what
 * ends them. A link is a secret that gives one answer and nothing else.
 */
import fc from 'fast-check';
import { unzipSync } from 'fflate';
import { pino } from 'pino';
import { describe, expect, test, vi } from 'vitest';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { data } from '../../gateway/api/operations/operations.ts';
import { useDirectory } from '../after-tests.ts';
import { keysMatching, startRedis } from '../redis.ts';
import { COUNTRIES, type FixtureIndicator, INDICATORS, movedBy } from './fixture-data.ts';
import { publishFixture } from './fixture-snapshot.ts';
import { type Answer, type GetOptions, type TestKey, useService } from './service.ts';

const SERIES = 'alpha.life_expectancy';
const QUERY = `/v1/data?indicator=${SERIES}`;
const ROWS = 9;
const USUAL = { name: 'Sheet', query: QUERY, format: 'csv', monthly_cap: 1000 };
const NOTE = '=HYPERLINK("http://evil.example";"Kenya")';

/** Figures of one series moved, those of all others as they are. */
const revised = (by: number): FixtureIndicator[] => [
  ...INDICATORS.filter(({ id }) => id !== SERIES),
  ...movedBy(by).filter(({ id }) => id === SERIES),
];
const named = COUNTRIES.map((one) => (one.iso3 === 'KEN' ? { ...one, name: NOTE } : one));

const root = await useDirectory();
let nights = 0;
/** The next night, with the figures of the series moved. @returns the edition */
async function publish(by: number): Promise<string> {
  nights += 1;
  const day = String(nights).padStart(2, '0');
  const id = `202611${day}T020000Z-000000${day}`;
  const generatedAt = `2026-11-${day}T02:00:00+00:00`;
  return publishFixture(root, { id, generatedAt, indicators: revised(by), countries: named });
}
await publish(0);

const lines: string[] = [];
const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
const redis = await startRedis();
const frozen = { SNAPSHOT_POLL_MS: '1000000', TRUST_PROXY: '127.0.0.1' };
const service = await useService({ snapshots: root, settings: frozen, log, redis });
/** A second gateway at the same Redis, which notices an edition later. */
const other = await useService({
  snapshots: root,
  settings: frozen,
  redis: { ...redis, stop: async () => {} },
});
const night = async (by: number): Promise<string> => {
  const id = await publish(by);
  await service.snapshots.check();
  await other.snapshots.check();
  return id;
};

interface Link {
  id: string;
  path: string;
}

const post = (who: TestKey, body: unknown, options: GetOptions = {}): Promise<Answer> =>
  service.get('/v1/feeds', { key: who.key, method: 'POST', body: JSON.stringify(body), ...options });

async function makeLink(who: TestKey, terms: object = {}, options: GetOptions = {}): Promise<Link> {
  const { status, json } = await post(who, { ...USUAL, ...terms }, options);
  if (status !== 200) throw new Error(JSON.stringify(json));
  return { id: json.data.id, path: json.data.url.replace('https://almanac.test', '') };
}

const fetchLink = (link: Link, options: GetOptions = {}, at = service): Promise<Answer> =>
  at.get(link.path, options);
const entriesOf = async ({ account_id }: TestKey): Promise<string[][]> =>
  (await service.client.xrange(redisKeys.ledger(account_id), '-', '+')).map(([, fields]) => fields);
const listed = async (who: TestKey) => (await service.get('/v1/feeds', { key: who.key })).json.data;
const recordOf = async (who: TestKey, { id }: Link) =>
  (await listed(who)).find((one: { id: string }) => one.id === id);
/** As if it had last served an edition that is kept no longer. */
const forgetEdition = ({ account_id }: TestKey, { id }: Link) =>
  service.client.hset(redisKeys.feeds(account_id), `${id}:edition`, '20200101T020000Z-00000001');
const spent = async (who: TestKey): Promise<number> => 1000 - (await service.balance(who));

describe('a link', () => {
  test('is made once with its secret, then listed with its use, by its key alone', async () => {
    const who = await service.account();
    const made = await post(who, {
      name: ' Kenya ',
      query: `https://almanac.test${QUERY}&countries=KEN&api_key=${who.key}`,
      format: 'xlsx',
      monthly_cap: 20,
      expires_at: '2026-12-31',
    });
    expect(made.status).toBe(200);
    const { url, price, ...record } = made.json.data;
    expect(url).toMatch(/^https:\/\/almanac\.test\/feed\/alm_feed_[0-9A-Za-z]{40}\.xlsx$/);
    expect(price).toBe(2);
    expect(record).toMatchObject({
      name: 'Kenya',
      query: `${QUERY}&countries=KEN`,
      format: 'xlsx',
      monthly_cap: 20,
      state: 'active',
      expires_at: '2026-12-31T23:59:59+00:00',
      fetches: 0,
      fetched_at: null,
      edition: null,
      secret_ends_with: url.slice(-9, -5),
    });
    expect(await listed(who)).toEqual([record]);
    await service.get(url.replace('https://almanac.test', ''));
    const served = service.snapshots.current()?.id;
    const used = { fetches: 1, month_credits: 2, edition: served, fetched_at: '2026-11-21T12:00:20+00:00' };
    expect(await listed(who)).toEqual([{ ...record, ...used }]);
    const stranger = await service.account();
    expect(await listed(stranger)).toEqual([]);
    const path = `/v1/feeds/${record.id}`;
    expect((await service.get(path, { key: stranger.key, method: 'DELETE' })).status).toBe(404);
    const sister = { ...who, ...(await service.accounts.keys.mint(who.account_id)) };
    expect(await listed(sister)).toEqual([]);
    expect((await service.get(path, { key: sister.key, method: 'DELETE' })).status).toBe(404);
    expect((await listed(who))[0].state).toBe('active');
    const revoked = await service.get(path, { key: who.key, method: 'DELETE' });
    expect(revoked.json.data).toMatchObject({ id: record.id, state: 'revoked' });
    expect(await spent(who)).toBe(2);
  });

  test.each([
    ['no query', { query: undefined }, ['body', 'query']],
    ['a query that is no such call', { query: '/v1/indicators' }, ['body', 'query']],
    ['a misspelt parameter', { query: `${QUERY}&contries=KEN` }, ['body', 'query', 'contries']],
    ['a format in the query', { query: `${QUERY}&format=json` }, ['body', 'query', 'format']],
    ['a dry run', { query: `${QUERY}&dry_run=true` }, ['body', 'query', 'dry_run']],
    ['another format', { format: 'parquet' }, ['body', 'format']],
    ['a cap below the price', { monthly_cap: ROWS - 1 }, ['body', 'monthly_cap']],
    ['an end that has passed', { expires_at: '2026-11-20' }, ['body', 'expires_at']],
    ['a member that is unknown', { expiry: '2027-01-01' }, ['body', 'expiry']],
    ['a member that nests', { name: ['Sheet'] }, ['body']],
  ])('is not made of %s', async (_what, terms, loc) => {
    const who = await service.account();
    const answer = await post(who, { ...USUAL, ...terms });
    expect([answer.status, answer.json.detail[0].loc]).toEqual([422, loc]);
    expect(await listed(who)).toEqual([]);
  });

  test('needs a key, a call that the key may make, and a place', async () => {
    const who = await service.account();
    expect((await service.get('/v1/feeds')).status).toBe(401);
    expect((await post({ ...who, key: 'alm_live_nobody' }, {})).status).toBe(401);
    expect((await post(who, { ...USUAL, query: '/v1/data?indicator=alpha.nothing' })).status).toBe(404);
    expect((await post(who, { ...USUAL, query: '/v1/rankings/gamma.reserves' })).status).toBe(403);
    expect((await post(who, 'no JSON')).status).toBe(422);
    for (let link = 0; link < 50; link += 1) await makeLink(who);
    expect((await post(who, USUAL)).json.detail[0].loc).toEqual(['body']);
    expect(await listed(who)).toHaveLength(50);
  });

  test('is refused in words, whatever is posted', async () => {
    const who = await service.account();
    const text = fc.oneof(
      fc.constantFrom(QUERY, '/v1/rankings/%', '/v1/data?', 'csv', '2026-02-30', '__proto__', '-1'),
      fc.string(),
    );
    const names = fc.constantFrom('name', 'query', 'format', 'monthly_cap', 'expires_at', '__proto__');
    const terms = fc.dictionary(names, fc.oneof(text, fc.jsonValue({ maxDepth: 1 })));
    const body = fc.oneof(
      { arbitrary: terms.map((sent) => JSON.stringify(sent)), weight: 4 },
      fc.json(),
      fc.string(),
    );
    await fc.assert(
      fc.asyncProperty(body, async (sent) => {
        const { status, json } = await post(who, null, { body: sent });
        expect([200, 400, 422], sent).toContain(status);
        expect(Object.keys(json)[0]).toBe({ 200: 'data', 400: 'error', 422: 'detail' }[status]);
      }),
      { numRuns: 150 },
    );
    expect((await post(who, null, { body: ' '.repeat(20_000) })).status).toBe(400);
  });

  test('has at most 100,000 rows', async () => {
    const who = await service.account();
    const plan = { kind: 'plan', price: 1, rows: 100_001, produce: () => Promise.reject() } as const;
    vi.spyOn(data, 'plan').mockReturnValueOnce(plan);
    expect((await post(who, USUAL)).json.detail).toMatchObject([{ type: 'too_many_rows' }]);
    expect((await post(who, USUAL)).status).toBe(200);
  });

  test('serves what its call gives as a file, in each format', async () => {
    const who = await service.account();
    const csv = await fetchLink(await makeLink(who));
    expect(csv.text).toBe((await service.get(`${QUERY}&format=csv`, { key: who.key })).text);
    expect(csv.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'cache-control': 'private, no-cache',
      'x-robots-tag': 'noindex',
      'referrer-policy': 'no-referrer',
      'x-attribution': 'Alpha Institute, CC BY 4.0',
      'x-snapshot': service.snapshots.current()?.id,
    });
    const json = await fetchLink(await makeLink(who, { format: 'json' }));
    expect(json.json.data).toHaveLength(ROWS);
    expect(json.json.meta).toMatchObject({ format: 'json', indicator: SERIES, licence: 'CC BY 4.0' });
    const xlsx = await fetchLink(await makeLink(who, { format: 'xlsx' }));
    expect(Object.keys(unzipSync(xlsx.bytes))).toContain('xl/worksheets/sheet1.xml');
    const past = await fetchLink(await makeLink(who, { query: `/v1/rankings/${SERIES}?year=2020` }));
    const asked = `/v1/rankings/${SERIES}?year=2020&format=csv`;
    expect(past.text).toBe((await service.get(asked, { key: who.key })).text.replace('=HYP', "'=HYP"));
    for (const query of [`/v1/rankings/${SERIES}`, '/v1/countries/KEN', `/v1/revisions?indicator=${SERIES}`])
      for (const format of ['csv', 'json'])
        expect((await fetchLink(await makeLink(who, { query, format }))).status, query).toBe(200);
  });

  test('says nothing of the account, and takes no parameters', async () => {
    const who = await service.account();
    const link = await makeLink(who);
    for (const answer of [
      await fetchLink(link),
      await fetchLink({ ...link, path: `${link.path}?countries=KEN` }),
    ])
      expect(Object.keys(answer.headers).filter((name) => /credit|ratelimit/.test(name))).toEqual([]);
    const asked = await fetchLink({ ...link, path: `${link.path}?countries=KEN` });
    expect([asked.status, asked.headers['content-type']]).toEqual([400, 'text/plain; charset=utf-8']);
    expect((await fetchLink({ ...link, path: link.path.replace('.csv', '.json') })).status).toBe(404);
    expect((await fetchLink({ ...link, path: link.path.replace(/.\.csv/, '.csv') })).status).toBe(404);
    expect((await fetchLink(link, { method: 'POST' })).status).toBe(405);
  });

  test('keeps text from becoming a formula, and numbers as they are', async () => {
    const who = await service.account();
    const query = `/v1/rankings/${SERIES}`;
    const csv = await fetchLink(await makeLink(who, { query }));
    expect(csv.text).toContain(`"'=HYPERLINK(""http://evil.example"";""Kenya"")"`);
    expect(csv.text).toMatch(/,-\d/);
    const xlsx = await fetchLink(await makeLink(who, { query, format: 'xlsx' }));
    const sheet = Buffer.from(unzipSync(xlsx.bytes)['xl/worksheets/sheet1.xml'] ?? []).toString();
    expect(sheet).toContain(`<c t="inlineStr"><is><t xml:space="preserve">=HYPERLINK(`);
    expect(sheet).not.toContain('<f>');
  });
});

describe('over the nights', () => {
  test('fifty fetches cost what one costs, an unchanged night nothing, a changed one once more', async () => {
    const who = await service.account();
    const link = await makeLink(who);
    const sheet = await makeLink(who, { format: 'xlsx', query: `${QUERY}&countries=KEN` });
    const answers = await Promise.all(Array.from({ length: 50 }, () => fetchLink(link)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await spent(who)).toBe(ROWS);
    await fetchLink(sheet);
    await night(0);
    const tag = String(answers[0]?.headers.etag);
    expect((await fetchLink(link, { headers: { 'if-none-match': tag } })).status).toBe(304);
    expect((await fetchLink(sheet)).headers['x-snapshot']).toBe(service.snapshots.current()?.id);
    expect(await spent(who)).toBe(ROWS + 2);
    await night(0.5);
    for (let again = 0; again < 3; again += 1)
      expect((await fetchLink(link)).text).not.toBe(answers[0]?.text);
    expect(await spent(who)).toBe(2 * ROWS + 2);
    await night(0);
    expect((await fetchLink(link)).text).toBe(answers[0]?.text);
    expect(await spent(who)).toBe(2 * ROWS + 2);
    const routes = (await entriesOf(who)).flatMap((fields) => fields[fields.indexOf('route') + 1] ?? []);
    expect(routes.filter((route) => route === `/feed/${link.id}`)).toHaveLength(2);
    expect(await recordOf(who, link)).toMatchObject({ fetches: 55, month_credits: 2 * ROWS });
  });

  test('HEAD is free, before anything is paid', async () => {
    const who = await service.account();
    const head = await fetchLink(await makeLink(who), { method: 'HEAD' });
    expect([head.status, head.headers['content-type']]).toEqual([200, 'text/csv; charset=utf-8']);
    expect(head.headers.etag).toBeUndefined();
    expect(await spent(who)).toBe(0);
  });

  test('forty fetches at once across a change of edition never pass the cap', async () => {
    const who = await service.account();
    const link = await makeLink(who, { monthly_cap: 2 * ROWS });
    const rich = await makeLink(who, { name: 'Rich', monthly_cap: 3 * ROWS });
    await night(1);
    await fetchLink(link);
    await fetchLink(rich);
    await night(2);
    await fetchLink(link);
    await fetchLink(rich);
    // The second gateway still has the edition of the second night.
    await publish(3);
    await service.snapshots.check();
    const gateways = Array.from({ length: 40 }, (_, at) => (at % 2 === 0 ? service : other));
    const answers = await Promise.all(gateways.map((at) => fetchLink(link, {}, at)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    const paying = await Promise.all(gateways.map((at) => fetchLink(rich, {}, at)));
    expect(new Set(paying.map(({ text }) => text)).size).toBe(2);
    await other.snapshots.check();
    expect((await recordOf(who, link)).month_credits).toBe(2 * ROWS);
    expect((await recordOf(who, rich)).month_credits).toBe(3 * ROWS);
    expect(await spent(who)).toBe(5 * ROWS);
  });

  test('without credits or under a spent cap, the last answer is given again while its edition is kept', async () => {
    const who = await service.account({ credits: ROWS });
    const link = await makeLink(who);
    const capped = await makeLink(who, { monthly_cap: ROWS });
    const paid = await fetchLink(link);
    const edition = paid.headers['x-snapshot'];
    const refused = await fetchLink(capped);
    expect([refused.status, refused.headers['content-type']]).toEqual([402, 'text/plain; charset=utf-8']);
    expect(refused.text).not.toMatch(/\d/);
    await night(4);
    const again = await fetchLink(link);
    expect([again.status, again.text, again.headers['x-snapshot']]).toEqual([200, paid.text, edition]);
    await forgetEdition(who, link);
    expect((await fetchLink(link)).status).toBe(402);
    expect(await service.balance(who)).toBe(0);
  });

  test('a new month begins the cap anew', async () => {
    const who = await service.account();
    const link = await makeLink(who, { monthly_cap: ROWS });
    await fetchLink(link);
    await night(5);
    await forgetEdition(who, link);
    expect((await fetchLink(link)).status).toBe(402);
    const noon = service.clock.ms;
    service.clock.ms = Date.UTC(2026, 11, 1, 0, 0, 1);
    expect((await fetchLink(link)).status).toBe(200);
    service.clock.ms = noon;
    expect(await spent(who)).toBe(2 * ROWS);
  });
});

describe('what ends or bounds a link', () => {
  const dead = async (link: Link): Promise<void> => {
    const { status, text } = await fetchLink(link);
    expect([status, text]).toEqual([404, expect.stringMatching(/^There is no such link/)]);
    expect((await fetchLink(link, { method: 'HEAD' })).status).toBe(404);
  };

  test('revocation, its end, that of its key, and the suspension of its account: at the next fetch, alike', async () => {
    const who = await service.account();
    const [revoked, expiring, ofKey] = [
      await makeLink(who),
      await makeLink(who, { expires_at: '2026-11-21T12:01:00Z' }),
      await makeLink(who),
    ];
    for (const link of [revoked, expiring, ofKey]) expect((await fetchLink(link)).status).toBe(200);
    await service.get(`/v1/feeds/${revoked.id}`, { key: who.key, method: 'DELETE' });
    await dead(revoked);
    const noon = service.clock.ms;
    service.clock.ms = Date.UTC(2026, 10, 21, 12, 1);
    await dead(expiring);
    service.clock.ms = noon;
    await service.accounts.suspend(who.account_id);
    await dead(ofKey);
    await service.accounts.restore(who.account_id);
    expect((await fetchLink(ofKey)).status).toBe(200);
    await service.accounts.keys.revoke(who.key_id);
    await dead(ofKey);
  });

  test('a key that is replaced hands its links to the new one', async () => {
    const who = await service.account();
    const link = await makeLink(who);
    const { key, key_id } = await service.accounts.keys.rotate(who.key_id, { grace_ms: 0 });
    expect((await fetchLink(link)).status).toBe(200);
    expect(await listed({ ...who, key, key_id })).toMatchObject([{ id: link.id, month_credits: ROWS }]);
  });

  test("the key's limit of requests and credits holds, its addresses and origins do not", async () => {
    const rules = { monthly_limit: ROWS, ranges: ['203.0.113.7'], origins: ['https://maps.example'] };
    const who = await service.account({ rules });
    const home = { headers: { 'x-forwarded-for': '203.0.113.7', origin: 'https://maps.example' } };
    const link = await makeLink(who, {}, home);
    expect((await fetchLink(link)).status).toBe(200);
    await night(6);
    await forgetEdition(who, link);
    expect((await fetchLink(link)).status).toBe(402);
    const minute = Math.floor(service.clock.ms / 60_000);
    await service.client.set(redisKeys.minute(who.account_id, minute), '100000');
    const limited = await fetchLink(link);
    expect([limited.status, limited.headers['retry-after']]).toEqual([429, '40']);
  });

  test('bytes of a day: the last of them are not passed, and the next day has its own', async () => {
    const who = await service.account();
    const link = await makeLink(who);
    const { bytes } = await fetchLink(link);
    const feeds = redisKeys.feeds(who.account_id);
    const today = Math.floor(service.clock.ms / 86_400_000);
    await service.client.hset(feeds, `${link.id}:day`, `${today}=${268_435_456 - bytes.length}`);
    expect((await fetchLink(link)).status).toBe(200);
    expect((await fetchLink(link)).status).toBe(429);
    await service.client.hset(feeds, `${link.id}:day`, `${today - 1}=268435456`);
    expect((await fetchLink(link)).status).toBe(200);
  });
});

test('the secret is in no log, ledger, metric or record, and whoever asks for it wrongly leaves none', async () => {
  const who = await service.account();
  const link = await makeLink(who);
  const secret = link.path.slice('/feed/'.length, -'.csv'.length);
  const asked = lines.length;
  await fetchLink(link);
  await fetchLink({ ...link, path: `${link.path}?a=1` });
  await fetchLink(link, { method: 'POST' });
  await fetchLink(link, { headers: { 'x-request-id': 'seen' } });
  await expect.poll(() => lines.slice(asked).some((line) => line.includes('"seen"'))).toBe(true);
  expect(lines.slice(asked).join('')).toContain('"route":"/feed"');
  expect(lines.join('')).not.toContain(secret);
  expect(await service.metrics.text()).not.toContain(secret);
  expect(JSON.stringify(await entriesOf(who))).not.toContain(secret);
  for (const name of await keysMatching(service.client)) {
    expect(name).not.toContain(secret);
    const dumped = await service.client.dumpBuffer(name);
    expect(dumped?.includes(secret) ?? false, name).toBe(false);
  }
});
