/** `as_of`: the figures of an earlier edition under today's decisions. */
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { catalogueFile, manifestPath, observationsFile } from '../../data/schema/snapshot.ts';
import { directoryOfTest, useDirectory } from '../after-tests.ts';
import { COUNTRIES, INDICATORS, movedBy } from './fixture-data.ts';
import { readLog, writeLog } from './fixture-log.ts';
import { fixturePath, publishFixture, writeFixture } from './fixture-snapshot.ts';
import { type Answer, codeOf, Service, type TestKey, useService } from './service.ts';

const NIGHTS = [
  '20261118T020000Z-00000001',
  '20261119T020000Z-00000002',
  '20261120T020000Z-00000003',
] as const;
const [FIRST, SECOND, THIRD] = NIGHTS;
const ROLLED_BACK = '20261119T080000Z-0000000b';
const timeOf = (id: string): string =>
  `2026-11-${id.slice(6, 8)}T${id.slice(9, 11)}:${id.slice(11, 13)}:00+00:00`;

const GONE = 'beta.life_expectancy';
const WITHHELD = 'alpha.child_mortality';

const atItsTime = new Map<string, string>();
const PATHS = [
  '/v1/data?indicator=alpha.life_expectancy',
  '/v1/data?indicator=beta.long_series&countries=KEN&from=1990',
  '/v1/data?indicator=alpha.life_expectancy&format=csv',
  '/v1/rankings/alpha.life_expectancy',
  '/v1/rankings/alpha.life_expectancy?year=2020',
  '/v1/countries/KEN',
  '/v1/countries/KEN?topic=health',
  '/v1/indicators/alpha.life_expectancy',
  '/v1/indicators',
  '/v1/indicators?q=life&limit=2',
  '/v1/indicators?sort=topic',
  '/v1/indicators?sort=coverage&dir=asc&projections=true',
];

const ask = (path: string) => service.get(path, { key: owner.key });
const askAsOf = (path: string, as_of: string) =>
  ask(`${path}${path.includes('?') ? '&' : '?'}as_of=${encodeURIComponent(as_of)}`);
/** Without what differs by design: the repeated parameter. */
const plain = ({ text }: Answer, as_of: string): string =>
  text.replace(`,"as_of":${JSON.stringify(as_of)}`, '');

const root = await useDirectory();
await publishFixture(root, { id: FIRST, generatedAt: timeOf(FIRST), indicators: movedBy(0) });
const service = await useService({ snapshots: root, settings: { SNAPSHOT_POLL_MS: '1000000' } });
const owner = await service.account({ credits: 1_000_000 });
const remember = async (id: string) => {
  for (const path of PATHS) atItsTime.set(`${id} ${path}`, (await ask(path)).text);
};
await remember(FIRST);
await publishFixture(root, { id: SECOND, generatedAt: timeOf(SECOND), indicators: movedBy(1) });
await service.snapshots.check();
await remember(SECOND);
const bad = { id: ROLLED_BACK, generatedAt: timeOf(ROLLED_BACK), indicators: movedBy(500), base: SECOND };
await publishFixture(root, bad);
await service.snapshots.check();
await remember(ROLLED_BACK);
await publishFixture(root, { id: THIRD, generatedAt: timeOf(THIRD), indicators: movedBy(2), base: SECOND });
await service.snapshots.check();
await remember(THIRD);

describe('the edition', () => {
  test.each(NIGHTS)('%s answers a date as it did then, byte for byte', async (id) => {
    const date = timeOf(id).slice(0, 10);
    for (const path of PATHS) {
      const answer = await askAsOf(path, date);
      expect(answer.status).toBe(200);
      expect(answer.headers['x-snapshot']).toBe(id);
      expect(plain(answer, date)).toBe(atItsTime.get(`${id} ${path}`));
      if (answer.json) expect(answer.json.meta.as_of).toBe(date);
    }
  });

  test('a rolled-back one answers by its id only', async () => {
    for (const path of PATHS) {
      const answer = await askAsOf(path, ROLLED_BACK);
      expect(answer.headers['x-snapshot']).toBe(ROLLED_BACK);
      expect(plain(answer, ROLLED_BACK)).toBe(atItsTime.get(`${ROLLED_BACK} ${path}`));
    }
    expect((await askAsOf('/v1/indicators', '2026-11-19')).headers['x-snapshot']).toBe(SECOND);
  });

  test.each([
    ['2026-11-18', FIRST],
    ['2026-11-18T01:59:59Z', null],
    ['2026-11-18T02:00:00Z', FIRST],
    ['2026-11-18T02:00:00.999Z', FIRST],
    ['2026-11-18T03:00:00+01:00', FIRST],
    ['2026-11-18T02:59:59+01:00', null],
    ['2026-11-19T01:59:59+00:00', FIRST],
    ['2026-11-19T23:00:00-12:00', THIRD],
    ['2026-11-20', THIRD],
    ['2199-12-31', THIRD],
    ['2026-11-17', null],
    [FIRST, FIRST],
    [THIRD, THIRD],
    ['20261118T020000Z-00000009', null],
  ])('of %s is %s', async (as_of, id) => {
    for (const path of ['/v1/indicators?limit=1', '/v1/rankings/alpha.life_expectancy']) {
      const answer = await askAsOf(path, as_of);
      expect(answer.status).toBe(id === null ? 404 : 200);
      if (id === null) expect(codeOf(answer)).toBe('edition_not_found');
      else expect(answer.headers['x-snapshot']).toBe(id);
    }
  });

  test('before the first is 404, names the first and costs nothing', async () => {
    const answer = await askAsOf('/v1/countries/KEN', '2026-11-17');
    expect(answer.headers['x-credits-charged']).toBe('0');
    expect(answer.json.error.message).toContain(FIRST);
    expect(answer.json.error.message).toContain(timeOf(FIRST));
  });

  test('an offset whose plus is not escaped is understood', async () => {
    const answer = await ask('/v1/indicators?limit=1&as_of=2026-11-18T02:00:00+00:00');
    expect(answer.headers['x-snapshot']).toBe(FIRST);
    expect(answer.json.meta.as_of).toBe('2026-11-18T02:00:00+00:00');
  });
});

test.each([
  '',
  'yesterday',
  '2026',
  '2026-02-30',
  '2026-13-01',
  '2026-11-18T02:00:00',
  '20261118',
  '20261118T020000Z',
])('as_of=%j is 422 and names what is expected', async (as_of) => {
  const paths = [...PATHS, '/v1/indicators/alpha.life_expectancy?include=sources'];
  for (const path of paths) {
    const answer = await askAsOf(path, as_of);
    expect(answer.status).toBe(422);
    expect(answer.json.detail).toMatchObject([
      { loc: ['query', 'as_of'], type: 'string_pattern_mismatch', input: as_of },
    ]);
    expect(answer.json.detail[0].msg).toContain('YYYY-MM-DD');
  }
});

test('costs what it costs today, and the balance shows it', async () => {
  for (const path of [
    '/v1/data?indicator=beta.long_series&countries=KEN',
    '/v1/rankings/alpha.life_expectancy',
    '/v1/countries/KEN',
  ]) {
    const today = Number((await ask(path)).headers['x-credits-charged']);
    const before = await service.balance(owner);
    const answer = await askAsOf(path, FIRST);
    expect(Number(answer.headers['x-credits-charged'])).toBe(today);
    expect(await service.balance(owner)).toBe(before - today);
  }
});

test('is as cacheable as without it: tags, 304, and the edition in every answer', async () => {
  const path = `/v1/indicators/alpha.life_expectancy?as_of=${FIRST}`;
  const answers = [
    await service.get(path),
    await service.get(path),
    await ask(path),
    await service.get(path),
  ];
  for (const answer of answers) {
    expect(answer.headers['x-snapshot']).toBe(FIRST);
    expect(answer.text).toBe(answers[0]?.text);
  }
  const headers = { 'if-none-match': String(answers[0]?.headers.etag) };
  expect((await service.get(path, { headers })).status).toBe(304);
  expect(answers[1]?.headers['cache-control']).toBe(
    (await service.get('/v1/indicators')).headers['cache-control'],
  );
});

test('an indicator, a country and a ranking that the edition does not have are 404 and name it', async () => {
  for (const path of [
    '/v1/data?indicator=a.b',
    '/v1/rankings/a.b',
    '/v1/indicators/a.b',
    '/v1/countries/ZZZ',
  ]) {
    const answer = await askAsOf(path, FIRST);
    expect(answer.status).toBe(404);
    expect(answer.headers['x-snapshot']).toBe(FIRST);
  }
});

test('many editions at a time, in turns, keep their answers apart', async () => {
  const ids = [...NIGHTS, ROLLED_BACK];
  await Promise.all(
    Array.from({ length: 40 }, async (_, turn) => {
      const id = ids[turn % ids.length] ?? FIRST;
      const path = PATHS[(turn * 7) % PATHS.length] ?? '';
      expect(plain(await askAsOf(path, id), id)).toBe(atItsTime.get(`${id} ${path}`));
    }),
  );
});

describe("today's decisions", async () => {
  const directory = await useDirectory();
  await publishFixture(directory, { id: FIRST, generatedAt: timeOf(FIRST) });
  const countries = COUNTRIES.filter(({ iso3 }) => iso3 !== 'USA');
  const indicators = INDICATORS.filter(({ id }) => id !== GONE && id !== WITHHELD).map((indicator) =>
    indicator.id === 'alpha.life_expectancy'
      ? { ...indicator, access_tier: 'display' as const, licence: 'Narrow terms' }
      : indicator,
  );
  const terms = { licence: 'CC0', licence_url: null, attribution: 'Nobody' };
  const vanished = [{ id: GONE, access_tier: 'open' as const, ...terms }];
  const second = { id: SECOND, generatedAt: timeOf(SECOND), indicators, countries, vanished };
  await publishFixture(directory, second);
  const today = await useService({ snapshots: directory });
  const reader = await today.account({ credits: 100_000 });
  const get = (path: string) => today.get(path, { key: reader.key });

  test('an indicator that may only be shown today is not exported from any edition', async () => {
    const answer = await get(`/v1/data?indicator=alpha.life_expectancy&as_of=${FIRST}`);
    expect([answer.status, codeOf(answer)]).toEqual([403, 'export_restricted']);
    const { json } = await get(`/v1/indicators/alpha.life_expectancy?as_of=${FIRST}`);
    expect(json.data).toMatchObject({ access_tier: 'display', licence: 'Narrow terms' });
    expect(json.meta.licence).toBe('Narrow terms');
    expect((await get(`/v1/rankings/alpha.life_expectancy?as_of=${FIRST}`)).json.meta.licence).toBe(
      'Narrow terms',
    );
  });

  test('one that upstream no longer has keeps its figures under the terms of today', async () => {
    expect((await get(`/v1/data?indicator=${GONE}`)).status).toBe(404);
    const { json } = await get(`/v1/data?indicator=${GONE}&as_of=${FIRST}`);
    expect(json.meta).toMatchObject(terms);
    expect(json.data).toHaveLength(3);
    const detail = (await get(`/v1/indicators/${GONE}?as_of=${FIRST}&include=sources,twins,quality`)).json;
    expect(detail.data).toMatchObject({ ...terms, provider: terms, sources: [], quality: [] });
  });

  test('one that may not be published today is in no answer', async () => {
    const paths = [
      `/v1/data?indicator=${WITHHELD}`,
      `/v1/rankings/${WITHHELD}`,
      `/v1/indicators/${WITHHELD}`,
    ];
    for (const path of paths) {
      const answer = await get(`${path}${path.includes('?') ? '&' : '?'}as_of=${FIRST}`);
      expect(codeOf(answer)).toBe('indicator_not_found');
    }
    for (const path of ['/v1/indicators', '/v1/countries/KEN', '/v1/indicators/alpha.life_expectancy']) {
      const { text } = await get(
        `${path}?as_of=${FIRST}&include=twins`.replace('KEN?', 'KEN?featured=true&'),
      );
      expect(text).not.toContain(WITHHELD);
    }
  });

  test('a country that is not served today is in no answer', async () => {
    expect(codeOf(await get(`/v1/countries/USA?as_of=${FIRST}`))).toBe('country_not_found');
    const rows = (await get(`/v1/data?indicator=beta.long_series&from=2000&as_of=${FIRST}`)).json.data;
    const codes = new Set(rows.map(({ iso3 }: { iso3: string }) => iso3));
    expect([...codes]).toEqual(countries.map(({ iso3 }) => iso3).sort());
    const asked = `/v1/data?indicator=beta.long_series&countries=USA,KEN&from=2019&as_of=${FIRST}`;
    expect((await get(asked)).json.data.map(({ iso3 }: { iso3: string }) => iso3)).toEqual(['KEN']);
    const ranking = (await get(`/v1/rankings/beta.long_series?year=2000&as_of=${FIRST}`)).json.data;
    expect(ranking).toHaveLength(countries.length);
  });

  test("`include=sources` shows today's sources of an indicator that is served", async () => {
    const sent = '/v1/indicators/beta.long_series?include=sources';
    expect((await get(`${sent}&as_of=${FIRST}`)).json.data.sources).toEqual(
      (await get(sent)).json.data.sources,
    );
  });
});

describe('faults', () => {
  // With a catalogue of its own: what editions have in common is read once.
  const renamed = INDICATORS.map((indicator) => ({ ...indicator, name: `${indicator.name}, old` }));
  let broken: Service;
  let reader: TestKey;
  let directory: string;
  beforeEach(async () => {
    directory = await directoryOfTest();
    await publishFixture(directory, { id: FIRST, generatedAt: timeOf(FIRST), indicators: renamed });
    await publishFixture(directory, { id: SECOND, generatedAt: timeOf(SECOND), indicators: movedBy(1) });
    broken = await Service.start({ snapshots: directory, settings: { SNAPSHOT_POLL_MS: '1000000' } });
    reader = await broken.account({ credits: 100_000 });
    return () => broken.stop();
  });

  test.each([
    ['figures', async () => fixturePath(directory, observationsFile('alpha.life_expectancy'), FIRST)],
    ['catalogue', async () => fixturePath(directory, catalogueFile('alpha'), FIRST)],
    ['manifest', async () => join(directory, manifestPath(FIRST))],
  ])(
    'an earlier edition without its %s is 503 and free; the served one goes on, and is ready',
    async (_name, where) => {
      const path = await where();
      await rename(path, `${path}-gone`);
      const before = await broken.balance(reader);
      const url = '/v1/data?indicator=alpha.life_expectancy';
      const answer = await broken.get(`${url}&as_of=${FIRST}`, { key: reader.key });
      expect([answer.status, codeOf(answer)]).toEqual([503, 'unavailable']);
      expect(await broken.balance(reader)).toBe(before);
      expect((await broken.get('/readyz')).status).toBe(200);
      await rename(`${path}-gone`, path);
      expect((await broken.get(`${url}&as_of=${FIRST}`, { key: reader.key })).status).toBe(200);
    },
  );

  test('the log is followed: an edition that is added to it answers after the next look', async () => {
    const early = '20261101T020000Z-0000000e';
    await writeFixture(directory, { id: early, generatedAt: timeOf(early), indicators: movedBy(9) });
    const entries = await readLog(directory);
    const added = entries.map((entry) =>
      entry.edition === early ? { ...entry, base: null, backfilled: true as const } : entry,
    );
    await writeLog(directory, added);
    const url = '/v1/indicators?limit=1&as_of=2026-11-02';
    expect((await broken.get(url)).status).toBe(404);
    await broken.snapshots.check();
    expect((await broken.get(url)).headers['x-snapshot']).toBe(early);
  });
});
