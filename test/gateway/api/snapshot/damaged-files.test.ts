/**
 * No answer is made from a damaged file, and nothing is charged for one, whether it was damaged before it was first opened or
 * later. Files of the served snapshot are also hashed in the background, in one round a day.
 */
import { copyFile, cp, readFile, writeFile } from 'node:fs/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  bundleFile,
  countryFile,
  indicatorFile,
  observationsFile,
} from '../../../../data/schema/snapshot.ts';
import { Scrub } from '../../../../gateway/api/snapshot/files/scrub.ts';
import { Objects } from '../../../../gateway/api/snapshot/files/snapshot-files.ts';
import { directoryOfTest, useDirectory } from '../../../after-tests.ts';
import { type FixtureIndicator, movedBy } from '../../fixture-data.ts';
import { FIXTURE_ID, fixturePath, publishFixture } from '../../fixture-snapshot.ts';
import { codeOf, Service, type TestKey } from '../../service.ts';

const SERVED = '20261121T020000Z-00000002';
const FILE = observationsFile('beta.long_series');
const DATA = '/v1/data?indicator=beta.long_series&countries=KEN&from=2000';
const RANKING = '/v1/rankings/beta.long_series?year=2000';
/** Its file is too large to be kept in memory. */
const LARGE: FixtureIndicator = {
  id: 'beta.large',
  name: 'A large series',
  topic: 'trade',
  rows: Array.from({ length: 60_000 }, (_, year) => {
    const value = Math.sin(year);
    return { iso3: 'KEN', year, value, ci_lo: value - Math.abs(value), ci_hi: value * value + 1 };
  }),
};

let directory: string;
let service: Service;
let owner: TestKey;
let logged: Record<string, unknown>[];
const whole = await useDirectory();
await publishFixture(whole);
const indicators = [...movedBy(1_000), LARGE];
await publishFixture(whole, { id: SERVED, generatedAt: '2026-11-21T02:00:00+00:00', indicators });
beforeEach(async () => {
  directory = await directoryOfTest();
  logged = [];
  await cp(whole, directory, { recursive: true });
  const log = pino({ level: 'error' }, { write: (line) => void logged.push(JSON.parse(line)) });
  const settings = { SNAPSHOT_POLL_MS: '1000000' };
  service = await Service.start({ snapshots: directory, settings, log });
  owner = await service.account({ credits: 1_000_000 });
});
afterEach(() => service.stop());
const ask = (path: string, headers: Record<string, string> = {}) =>
  service.get(path, { key: owner.key, headers });

/** Flips one bit within a value, which the format does not notice. @returns repairs the file */
async function damage(name = FILE, edition = SERVED): Promise<() => Promise<void>> {
  const path = await fixturePath(directory, name, edition);
  await copyFile(path, `${path}-whole`);
  const bytes = await readFile(path);
  const at = bytes.length >> 1;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(path, bytes);
  return () => copyFile(`${path}-whole`, path);
}

async function expectFreeOfCharge(path: string, headers?: Record<string, string>): Promise<void> {
  const before = await service.balance(owner);
  const answer = await ask(path, headers);
  expect([answer.status, codeOf(answer)]).toEqual([503, 'unavailable']);
  expect(Number(answer.headers['x-credits-charged'])).toBe(0);
  expect(await service.balance(owner)).toBe(before);
}

/** What is asked for, and the file that its answer is made from. Bytes of files that were read lately are kept: each has its own. */
const PATHS: [path: string, file: string, edition?: string][] = [
  [DATA, FILE],
  ['/v1/data?indicator=beta.long_series', FILE],
  [`${DATA}&format=parquet&fields=iso3,year,value,status`, FILE],
  ['/v1/data?indicators=beta.long_series,alpha.population_total&layout=wide', FILE],
  ['/v1/data?indicator=beta.large&from=1&to=9', observationsFile('beta.large')],
  [`${DATA}&as_of=${FIXTURE_ID}`, FILE, FIXTURE_ID],
  [`${DATA}&as_of=2026-11-20`, FILE, FIXTURE_ID],
  [RANKING, FILE],
  [`${RANKING}&as_of=${FIXTURE_ID}`, FILE, FIXTURE_ID],
  ['/v1/receipts?indicator=beta.long_series&country=KEN&year=2000', FILE],
  ['/v1/files/alpha.life_expectancy.parquet', observationsFile('alpha.life_expectancy')],
  ['/v1/files/beta.large.parquet', observationsFile('beta.large')],
  [
    `/v1/files/beta.life_expectancy.parquet?as_of=${FIXTURE_ID}`,
    observationsFile('beta.life_expectancy'),
    FIXTURE_ID,
  ],
  ['/v1/bundles/alpha.parquet', bundleFile('alpha')],
  ['/v1/bundles/beta.parquet', bundleFile('beta')],
  ['/v1/countries/KEN', countryFile('KEN')],
  ['/v1/indicators/beta.long_series', indicatorFile('beta.long_series')],
];

describe('a file that was damaged right after a start', () => {
  test.each(PATHS)('%s: 503, nothing charged, and right once it is whole', async (path, file, edition) => {
    const repair = await damage(file, edition);
    await expectFreeOfCharge(path);
    await expectFreeOfCharge(path);
    await repair();
    service.snapshots.current()?.editions.close();
    expect((await ask(path)).status).toBe(200);
  });

  test('gives no part of it either', async () => {
    await damage(observationsFile('beta.large'));
    await expectFreeOfCharge('/v1/files/beta.large.parquet', { range: 'bytes=0-3' });
  });

  test('is logged and counted once', async () => {
    await damage();
    for (let call = 0; call < 3; call += 1) await expectFreeOfCharge(DATA);
    expect(logged.map(({ msg }) => msg)).toEqual([
      'published file has another content',
      'published file cannot be read',
    ]);
    expect(await service.metrics.text()).toContain('\nalmanac_damaged_files_total 1\n');
  });
});

test('a file that is damaged after it was opened is not opened again', async () => {
  expect((await ask(DATA)).status).toBe(200);
  await damage();
  await expectFreeOfCharge(DATA.replace('KEN', 'USA'));
});

describe('the background check', () => {
  /** Hashes so many files. @param between runs once half of them are hashed */
  async function scrub(count: number, between = async () => {}): Promise<Scrubbed> {
    const damaged: string[] = [];
    const waited_ms: number[] = [];
    const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
    const running = new Scrub({
      snapshots: service.snapshots,
      onDamage: (file) => damaged.push(file),
      wait: async (ms, signal) => {
        if (waited_ms.length === count >> 1) await between();
        if (waited_ms.length < count) return void waited_ms.push(ms);
        end();
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      },
    });
    await isOver;
    await running.stop();
    return { damaged, waited_ms };
  }
  const hashes = () =>
    new Set(
      service.snapshots
        .current()
        ?.files.all()
        .map(([, { sha256 }]) => sha256),
    );
  const round = () => scrub(hashes().size);

  interface Scrubbed {
    damaged: string[];
    waited_ms: number[];
  }

  test('finds nothing in whole files, and a round takes a day', async () => {
    const { damaged, waited_ms } = await round();
    expect(damaged).toEqual([]);
    expect(waited_ms.length).toBeGreaterThan(100);
    expect(waited_ms.reduce((sum, ms) => sum + ms)).toBeCloseTo(86_400_000);
    expect((await service.get('/readyz')).status).toBe(200);
  });

  test('rests before its first file, so that a start reads none for it', async () => {
    await damage();
    expect(await scrub(0)).toEqual({ damaged: [], waited_ms: [] });
    expect((await round()).damaged).toEqual([FILE]);
  });

  test('goes on when another snapshot is published, and reads no file twice in a round', async () => {
    const before = hashes();
    const verified = vi.spyOn(Objects.prototype, 'verify');
    await scrub(before.size, async () => {
      await publishFixture(directory, { id: SERVED.replace('21T', '22T'), indicators });
      await service.snapshots.check();
    });
    const hashed = verified.mock.calls.map(([{ sha256 }]) => sha256);
    verified.mockRestore();
    // One wait was for a file of the snapshot that is no longer served.
    expect(hashed.length).toBe(before.size - 1);
    expect(new Set(hashed).size).toBe(hashed.length);
    expect(hashed.some((sha256) => !before.has(sha256))).toBe(true);
  });

  test('finds what is in memory damaged: no answer is made of it until the file is whole again', async () => {
    for (let time = 0; time < 3; time += 1) expect((await ask(DATA)).status).toBe(200);
    const ranking = (await ask(RANKING)).text;
    const repair = await damage();
    expect((await round()).damaged).toEqual([FILE]);
    for (const path of [DATA, RANKING, `${DATA}&as_of=${SERVED}`]) await expectFreeOfCharge(path);
    expect((await ask('/v1/data?indicator=alpha.life_expectancy')).status).toBe(200);
    const { status, json } = await service.get('/readyz');
    expect(status).toBe(503);
    expect(json.causes).toEqual([`The file ${FILE} of snapshot ${SERVED} cannot be read.`]);
    await service.snapshots.check();
    expect((await ask(DATA)).status).toBe(503);
    await repair();
    await service.snapshots.check();
    expect((await service.get('/readyz')).status).toBe(200);
    expect((await ask(RANKING)).text).toBe(ranking);
  });

  test('of another process tells this one of the file', async () => {
    for (let time = 0; time < 3; time += 1) expect((await ask(DATA)).status).toBe(200);
    await damage();
    expect((await ask(DATA)).status).toBe(200);
    await service.snapshots.verifyFile(FILE);
    await expectFreeOfCharge(DATA);
  });
});
