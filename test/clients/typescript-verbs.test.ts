/** Every verb of the TypeScript client against the plain answer of the service, and what each call costs. */
import { createHash } from 'node:crypto';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  Almanac,
  type ClientOptions,
  ConnectionFailed,
  formatLock,
  type Lock,
  LockError,
  parseKeys,
  parseLock,
  Refused,
  verifyReceipt,
  type Years,
} from '../../clients/typescript/src/index.ts';
import { Table } from '../../clients/typescript/src/table.ts';
import { SYSTEM } from '../../clients/typescript/src/transport.ts';
import { SEED } from '../environment.ts';
import { useService } from '../gateway/service.ts';

const LIFE = 'alpha.life_expectancy';
const OTHER = 'beta.life_expectancy';

const clientWith = (options: ClientOptions = {}): Almanac =>
  new Almanac({ key: owner.key, baseUrl: service.url, ...options });

const service = await useService();
const owner = await service.account({ credits: 1_000_000 });
const client = clientWith();

const ask = async (path: string) => (await service.get(path, { key: owner.key })).json;
const balance = () => service.balance(owner);

it('reads the catalogue, without a key', async () => {
  const stranger = new Almanac({ baseUrl: service.url });
  const before = await balance();
  const words = 'how long people live in Kenya and the EU, 2020';
  const { data, meta } = await ask(`/v1/search?q=${encodeURIComponent(words)}&limit=3`);
  const found = await stranger.search(words, { limit: 3 });
  expect(found).toEqual({ ...meta, hits: data });
  expect([found.match, found.hits[0]?.id, found.places, found.groups, found.years]).toEqual([
    ...['good', LIFE, [{ iso3: 'KEN', name: 'Kenya' }]],
    ...[[{ id: 'eu', name: 'European Union' }], [2020]],
  ]);
  expect(await stranger.search('expuctencys')).toMatchObject({
    hits: [],
    match: 'none',
    nearest: ['expectancy'],
  });
  expect(await stranger.indicators()).toEqual((await ask('/v1/indicators')).data);
  expect(await client.indicators({ topic: 'health', provider: 'alpha', limit: 1 })).toEqual(
    (await ask('/v1/indicators?topic=health&provider=alpha&limit=1')).data,
  );
  const detail = await stranger.indicator(LIFE, { include: ['sources', 'twins'] });
  expect(detail).toEqual((await ask(`/v1/indicators/${LIFE}?include=sources,twins`)).data);
  expect(await client.editions()).toEqual((await ask('/v1/editions')).data);
  expect(await client.changes()).toEqual((await ask('/v1/changes')).data);
  expect(await stranger.countries({ region: 'South Asia' })).toEqual(
    (await ask('/v1/countries?region=South%20Asia')).data,
  );
  expect(await stranger.groups()).toEqual((await ask('/v1/groups')).data);
  expect(await stranger.topics()).toEqual((await ask('/v1/topics')).data);
  const cited = `/v1/indicators/${LIFE}/citation`;
  expect(await stranger.citation(LIFE)).toBe((await service.get(`${cited}.bib`)).text);
  const item = JSON.parse(await stranger.citation(LIFE, { style: 'csl-json' }));
  expect(item).toEqual((await service.get(`${cited}.json`)).json);
  expect(await client.balance()).toBe(before);
  const [newest] = await client.editions();
  expect(await client.changes({ since: newest?.id ?? '' })).toEqual([]);
  expect(await balance()).toBe(before);
});

it('gives figures with licence, credit line, citation and edition', async () => {
  const table = await client.data(LIFE, { countries: ['ken', 'DEU'], years: { from: 2000 } });
  const { data, meta } = await ask(`/v1/data?indicator=${LIFE}&countries=ken,DEU&from=2000`);
  expect(table.rows).toEqual(data.map((row: object) => ({ indicator: LIFE, ...row })));
  expect([table.length, table.price, [...table].length]).toEqual(Array(3).fill(meta.count));
  expect(table.licences).toEqual([meta.licence]);
  expect(table.attribution).toBe(meta.attribution);
  expect(table.edition).toBe((await client.editions())[0]?.id);
  const day = meta.generated_at.slice(0, 10);
  expect(table.citation).toBe(
    `${meta.attribution} (${meta.licence}): ${meta.name}, ${LIFE}. Almanac, snapshot ${table.edition} of ${day}.`,
  );
  expect(JSON.parse(JSON.stringify(table))).toMatchObject({
    attribution: meta.attribution,
    units: { [LIFE]: meta.unit },
    rows: table.rows,
  });
});

it('gives and charges the years of a list, and all years of a span', async () => {
  const all = (await client.data(LIFE)).rows;
  const years = fc.array(fc.integer({ min: 1995, max: 2025 }), { minLength: 1, maxLength: 6 });
  const check = async (listed: number[]): Promise<void> => {
    const [from, to] = [Math.min(...listed), Math.max(...listed)];
    const span = all.filter(({ year }) => from <= year && year <= to);
    const expected: [Years, readonly object[]][] = [
      [listed, all.filter(({ year }) => listed.includes(year))],
      [listed.join(','), all.filter(({ year }) => listed.includes(year))],
      [{ from, to }, span],
      [`${from}-${to}`, span],
      [{ from }, all.filter(({ year }) => from <= year)],
      [`-${to}`, all.filter(({ year }) => year <= to)],
      [from, all.filter(({ year }) => year === from)],
    ];
    for (const [asked, rows] of expected) {
      const table = await client.data(LIFE, { years: asked });
      expect([table.rows, table.price]).toEqual([rows, Math.max(1, rows.length)]);
    }
  };
  await fc.assert(fc.asyncProperty(years, check), { seed: SEED ?? 21, numRuns: 10 });
  const wrong = [[], {}, '', '2000-2010-2020', '1e3', [2000.5], [null, 2000]] as Years[];
  for (const one of wrong) await expect(client.data(LIFE, { years: one })).rejects.toThrow(TypeError);
});

it('shows tables, with names of places, unit, edition and citation', async () => {
  const table = await client.data(LIFE, { countries: 'KEN,DEU', latest: 1, names: true });
  expect(table.rows.map(({ iso3, name }) => [iso3, name])).toEqual([
    ['DEU', 'Germany'],
    ['KEN', 'Kenya'],
  ]);
  expect(String(table)).toBe(`${LIFE}: Life expectancy, years
iso3  name     year  value  ci_lo  ci_hi  rank  projected
----  -------  ----  -----  -----  -----  ----  ---------
DEU   Germany  2021     82                   1  false
KEN   Kenya    2021   63.5     62     65     3  false
2 rows, snapshot ${table.edition}, 2 credits
${table.citation}`);
  expect([inspect(table), table.at(-1)]).toEqual([String(table), table.rows[1]]);
  const html = new Table([{ name: '<b>"&', value: 2 }], {}, table.provenance).toHTML();
  expect(html).toMatch(/^<table><caption>alpha.life_expectancy: Life expectancy, years<\/caption>/);
  expect(html).toContain('<td>&lt;b&gt;&quot;&amp;</td><td style="text-align: right">2</td>');
  expect(html).toContain('Alpha Institute, CC BY 4.0 (CC BY 4.0): Life expectancy');
  const quoted = await client.data(LIFE, { countries: ['KEN', 'zzz'] });
  expect(String(quoted)).toContain('no country has the code ZZZ');
  await expect(client.data(LIFE, { names: true, layout: 'wide' } as object)).rejects.toThrow(
    'names must not',
  );
});

it('takes places by any usual name, and names those that are none', async () => {
  const named = ['the United States', 'Deutschland', 'Korea, Rep.', 'UK', 'zzz'];
  const table = await client.data(LIFE, { countries: named, years: 2000 });
  const coded = await client.data(LIFE, { countries: 'USA,DEU,KOR', years: 2000 });
  expect([table.rows, table.price]).toEqual([coded.rows, coded.price]);
  expect([table.unmatched, coded.unmatched]).toEqual([['KOR', 'UK', 'ZZZ'], ['KOR']]);
  expect((await client.revisions(table)).unmatched).toEqual(['KOR', 'UK', 'ZZZ']);
  const before = await balance();
  await expect(client.data(LIFE, { countries: ['Congo', 'Kenyya'] })).rejects.toThrow(
    /Candidates: DR Congo \(COD\), Congo \(COG\); .* Candidates: Kenya \(KEN\) \[422/,
  );
  expect(await balance()).toBe(before);
  expect(await client.country('Republic of Kenya')).toEqual(await client.country('KEN'));
  await expect(client.country('Kenyya')).rejects.toThrow('Candidates: Kenya (KEN).');
  expect(await client.receipt(LIFE, 'Kenya', 2021)).toEqual(await client.receipt(LIFE, 'KEN', 2021));
  const [verdict] = await client.verify([[LIFE, 'Kenya', 2021, '63.5']]);
  expect(verdict).toMatchObject({ verdict: 'exact', iso3: 'KEN' });
});

it('makes, lists and revokes feed links', async () => {
  const asked = { countries: ['Kenya', 'DEU'], years: [2020, 2021], names: true } as const;
  const terms = { format: 'json', monthlyCap: 50, expires: '2099-12-31' } as const;
  const made = await client.makeFeed('Lives', LIFE, { ...asked, ...terms });
  const table = await client.data(LIFE, asked);
  expect(made).toMatchObject({ name: 'Lives', format: 'json', price: table.price, monthly_cap: 50 });
  const before = await balance();
  const path = new URL(made.url).pathname;
  expect((await service.get(path)).json.data).toEqual(table.rows);
  expect(before - (await balance())).toBe(table.price);
  expect((await client.feeds()).map(({ id, state, fetches }) => [id, state, fetches])).toEqual([
    [made.id, 'active', 1],
  ]);
  expect(await client.revokeFeed(made.id)).toMatchObject({ id: made.id, state: 'revoked' });
  expect((await service.get(path)).status).toBe(404);
  await expect(client.makeFeed('Lives', LIFE, { monthlyCap: 1 })).rejects.toThrow('more than the cap');
  await expect(client.revokeFeed('none')).rejects.toMatchObject({ status: 404 });
});

it('names the nearest ids of one that is unknown, and the key where there is none', async () => {
  for (const call of [() => client.data('alpha.life_expectency'), () => client.indicator('life_expectancy')])
    await expect(call()).rejects.toThrow(/Nearest: alpha.life_expectancy, beta.life_expectancy. \[404/);
  await expect(new Almanac({ baseUrl: service.url }).data(LIFE)).rejects.toMatchObject({
    status: 401,
    code: 'unauthorized',
    text: expect.stringContaining('new Almanac({ key })'),
  });
});

it('gives several indicators, wide tables, chosen columns and earlier editions', async () => {
  const both = [LIFE, OTHER];
  const query = `indicators=${both.join(',')}&countries=KEN,DEU`;
  expect((await client.data(both, { countries: 'KEN,DEU' })).rows).toEqual(
    (await ask(`/v1/data?${query}`)).data,
  );
  const wide = await client.data(both, { countries: 'KEN,DEU', layout: 'wide' });
  expect(wide.rows).toEqual((await ask(`/v1/data?${query}&layout=wide`)).data);
  expect(wide.rows[0]).toHaveProperty([OTHER]);
  const chosen = await client.data(LIFE, {
    countries: 'KEN',
    latest: 1,
    fields: ['name', 'value'],
    missing: 'omit',
  });
  expect(chosen.rows.map(({ name, value }) => [name, typeof value])).toEqual([['Kenya', 'number']]);
  const asOf = wide.edition ?? '';
  const then = await client.data(LIFE, { countries: 'KEN', years: 2020, asOf });
  expect(then.meta).toMatchObject({ as_of: asOf, from: 2020, to: 2020 });
});

it('ranks, describes a country, judges claims and lists revisions', async () => {
  const ranking = await client.rank(LIFE);
  const answer = await ask(`/v1/rankings/${LIFE}`);
  expect([ranking.rows, ranking.meta, ranking.price]).toEqual([answer.data, answer.meta, 1]);
  expect(await client.country('ken', { topic: 'health' })).toEqual(
    (await ask('/v1/countries/ken?topic=health')).data,
  );
  const before = await balance();
  const verdicts = await client.verify(
    Array.from({ length: 61 }, (_, at) => [LIFE, 'KEN', 1960 + at, '1.0'] as const),
  );
  expect([verdicts.length, before - (await balance())]).toEqual([61, 61]);
  expect(verdicts[0]).toEqual((await ask(`/v1/verify?claim=${LIFE},KEN,1960,1.0`)).data[0]);
  const revisions = await client.revisions(await client.data([LIFE, OTHER], { countries: 'KEN' }));
  expect(revisions.provenance.series.map(({ id }) => id)).toEqual([LIFE, OTHER]);
  await expect(client.revisions(ranking)).rejects.toThrow('a table that `data` answered');
});

it('charges the price that it named, and refusals nothing', async () => {
  const asked = { countries: 'KEN,DEU', years: '1990-2020' };
  const before = await balance();
  const { price, rows } = await client.price([LIFE, OTHER], asked);
  expect(await balance()).toBe(before);
  const table = await client.data([LIFE, OTHER], asked);
  expect([table.length, table.price, before - (await balance())]).toEqual([rows, price, price]);
  const after = await balance();
  const limited = clientWith({ maxCredits: price - 1 });
  await expect(limited.data([LIFE, OTHER], asked)).rejects.toMatchObject({
    code: 'max_credits_exceeded',
    status: 402,
  });
  await expect(limited.data('none.such')).rejects.toMatchObject({
    code: 'indicator_not_found',
    requestId: expect.stringMatching(/./),
  });
  await expect(clientWith({ key: 'alm_live_wrong' }).data(LIFE)).rejects.toMatchObject({
    code: 'invalid_key',
  });
  await expect(client.receipt(LIFE, 'KEN', 1066)).rejects.toMatchObject({ code: 'figure_not_found' });
  expect(await balance()).toBe(after);
  expect((await limited.data([LIFE, OTHER], { ...asked, maxCredits: price })).price).toBe(price);
});

it('gives files whole or in pieces, with their hash, and pays once', async () => {
  const file = await client.file(LIFE);
  const bytes = await file.bytes();
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(file.sha256);
  expect([file.size, file.attrs.licence]).toEqual([bytes.length, (await client.indicator(LIFE)).licence]);
  const before = await balance();
  const again = await client.file(LIFE);
  const pieces: Uint8Array[] = [];
  for await (const piece of again.stream()) pieces.push(piece);
  expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
  expect([again.price, await balance()]).toEqual([0, before]);
  const bundle = await client.bundle('alpha');
  expect(new TextDecoder().decode((await bundle.bytes()).subarray(0, 4))).toBe('PAR1');
  expect(bundle.provenance.series.map(({ id }) => id)).toContain(LIFE);
});

it('pays once over a network that loses requests and answers', async () => {
  const countries = fc.constantFrom('KEN', 'DEU', 'FRA', 'IND');
  let lost = 0;
  const call = async (country: string, losses: readonly string[]): Promise<void> => {
    const steps = [...losses];
    const losing: typeof fetch = async (input, init) => {
      const step = steps.shift();
      if (step === 'request') throw new TypeError('fetch failed');
      const response = await fetch(input, init);
      if (step === undefined) return response;
      lost += 1;
      await response.arrayBuffer();
      if (step === 'answer') throw new TypeError('terminated');
      return new Response(
        new ReadableStream({ start: (stream) => stream.error(new TypeError('terminated')) }),
        response,
      );
    };
    const options = { key: owner.key, baseUrl: service.url, retries: 4 };
    const shaky = new Almanac(options, { ...SYSTEM, fetch: losing, sleep: async () => {} });
    const before = await balance();
    const table = await shaky.data(LIFE, { countries: country }).catch((error: unknown) => error);
    const paid = before - (await balance());
    const { price } = await client.price(LIFE, { countries: country });
    if (table instanceof ConnectionFailed) expect([0, price]).toContain(paid);
    else expect([table, paid]).toEqual([expect.any(Table), price]);
  };
  const losses = fc.array(fc.constantFrom('request', 'answer', 'body'), { maxLength: 5 });
  await fc.assert(fc.asyncProperty(countries, losses, call), { seed: SEED ?? 21, numRuns: 40 });
  expect(lost).toBeGreaterThan(20);
});

it('keeps receipts that are verified offline', async () => {
  const figures = await client.data(LIFE, { countries: 'KEN', latest: 1 });
  const [figure = expect.fail('no figure')] = figures.rows;
  const receipt = await client.receipt(LIFE, 'ken', figure.year);
  const keys = await parseKeys(await client.keysDocument());
  const verified = await verifyReceipt(receipt, keys);
  expect(verified.row.value).toBe(figure.value);
  expect(verified.root).toBe((await client.editions())[0]?.root);
  const text = new TextDecoder().decode(receipt);
  const forged = text.replace(`"year":${figure.year}`, `"year":${figure.year - 1}`);
  await expect(verifyReceipt(forged, keys)).rejects.toThrow(Refused);
});

it('pins an edition', async () => {
  const lock = await client.lock();
  expect(parseLock(formatLock(lock))).toEqual(lock);
  const locked = clientWith({ lock });
  await locked.checkLock();
  const [plain, pinned] = [
    await client.data(LIFE, { countries: 'KEN' }),
    await locked.data(LIFE, { countries: 'KEN' }),
  ];
  expect(pinned.rows).toEqual(plain.rows);
  expect(pinned.meta.as_of).toBe(lock.edition);
  expect((await locked.rank(LIFE)).rows).toEqual((await client.rank(LIFE)).rows);
  expect(await locked.keys()).toEqual(await client.keys());
  expect((await client.revisions(plain, { since: lock })).length).toBe(0);
  await expect(locked.data(LIFE, { asOf: '2026-01-01' })).rejects.toThrow('the lock pins');
  await expect(client.lock('20200101T000000Z-00000000')).rejects.toThrow('has no edition');
  await expect(client.checkLock()).rejects.toThrow('has no lock');
});

it.each<[keyof Lock, (text: string) => string, string]>([
  ['root', (text) => (text.startsWith('1') ? '2' : '1') + text.slice(1), 'has the root'],
  ['publishedAt', (text) => text.replace('2026', '2025'), 'has the published_at'],
  ['edition', (text) => `${text.slice(0, -1)}${text.endsWith('0') ? '1' : '0'}`, 'has no edition'],
  ['checkpoint', (text) => text.replace(/\n\d+\n/, '\n99\n'), 'does not hold'],
])('refuses a lock of which the %s was edited, before anything is paid', async (name, edit, message) => {
  const lock = await client.lock();
  const before = await balance();
  const locked = clientWith({ lock: { ...lock, [name]: edit(String(lock[name])) } });
  for (const _ of [1, 2]) await expect(locked.data(LIFE)).rejects.toThrow(message);
  await expect(locked.rank(LIFE)).rejects.toThrow(LockError);
  expect(await balance()).toBe(before);
});

it.each(['', '{}', '[]', '{"format":"almanac-lock/2"}', '{"format":"almanac-lock/1","keys":[{}]}'])(
  'refuses what is no lock: %j',
  (text) => {
    expect(() => parseLock(text)).toThrow(LockError);
  },
);
