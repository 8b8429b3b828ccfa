/** Gateways that follow an origin answer as one that serves the same directory, for the served edition and for history. */
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, describe, expect, test } from 'vitest';
import { editionLeaf, MerkleTree } from '../../../../../data/proofs/merkle-tree.ts';
import {
  generateSigningKey,
  parseSigningKey,
  signCheckpoint,
} from '../../../../../data/proofs/signing-key.ts';
import { parseKey } from '../../../../../data/proofs/verify-receipt.ts';
import { indicatorFile, observationsFile } from '../../../../../data/schema/snapshot.ts';
import { ObjectFetcher } from '../../../../../gateway/api/snapshot/origin/object-fetcher.ts';
import { stopAfterTests, useDirectory } from '../../../../after-tests.ts';
import { HttpOrigin } from '../../../../http-origin.ts';
import { movedBy } from '../../../fixture-data.ts';
import { readLog } from '../../../fixture-log.ts';
import {
  FIXTURE_ID,
  fixturePath,
  publishFixture,
  setCurrentSnapshot,
  writeFixture,
} from '../../../fixture-snapshot.ts';
import { codeOf, Service, useService } from '../../../service.ts';
import { followOrigin } from './followed.ts';

const KEY = parseSigningKey(generateSigningKey('almanac.test'));
const QUIET = { SNAPSHOT_POLL_MS: '1000000' };
const SECOND = '20261121T020000Z-00000002';
const LIFE = 'alpha.life_expectancy';
/** Asked for only as history, so that no process holds it in memory. */
const OTHER = 'beta.life_expectancy';
const FREE = [
  '/v1/topics',
  '/v1/indicators',
  `/v1/indicators/${LIFE}`,
  '/v1/meta/freshness',
  '/v1/meta/coverage',
];
const HISTORY = [
  `/v1/data?indicator=${OTHER}&as_of=${FIXTURE_ID}`,
  `/v1/rankings/${OTHER}?as_of=2026-11-20`,
  `/v1/countries/KEN?as_of=${FIXTURE_ID}`,
  `/v1/indicators/${OTHER}?as_of=${FIXTURE_ID}`,
];

const logged: string[] = [];

/** Signs the log of the fixture. */
async function sign(): Promise<void> {
  const editions = await readLog(source);
  const { root } = MerkleTree.of(editions.map(editionLeaf));
  const checkpoint = signCheckpoint(KEY, { size: editions.length, root });
  await writeFile(join(source, 'log.json'), JSON.stringify({ editions, checkpoint }));
}
const follow = async (): Promise<void> => {
  await follower.check();
  expect(follower.fault).toBeNull();
};
/** With one bit flipped. */
function flipped(bytes = Buffer.alloc(1)): Buffer {
  const at = bytes.length >> 1;
  return Buffer.concat([bytes.subarray(0, at), Buffer.of((bytes[at] ?? 0) ^ 1), bytes.subarray(at + 1)]);
}
const isMirrored = async (name: string, id: string): Promise<boolean> =>
  existsSync((await fixturePath(source, name, id)).replace(source, mirror));
async function expectSameAnswers(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const [here, there] = [await following.get(path, { key }), await direct.get(path, { key: directKey })];
    expect(here.status).toBe(200);
    expect(here.text).toBe(there.text);
  }
}

const source = await useDirectory();
const mirror = await useDirectory();
await publishFixture(source);
await sign();
const origin = await stopAfterTests(HttpOrigin.start(source));
const { client, fetcher, follower, stop } = followOrigin({
  url: origin.url,
  directory: mirror,
  keys: [parseKey(KEY.publicKey)],
  most_bytes: 1,
  onPublish: () => following.snapshots.check(),
});
afterAll(stop);
const direct = await useService({ snapshots: source, settings: QUIET });
const log = pino({ level: 'warn' }, { write: (line) => void logged.push(line) });
const following = await useService({ snapshots: mirror, origin: fetcher, settings: QUIET, log });
const { key } = await following.account({ credits: 1_000_000 });
const { key: directKey } = await direct.account({ credits: 1_000_000 });

describe('a gateway that follows an origin', () => {
  test('answers 503 until it has a snapshot, then as one that serves the directory', async () => {
    expect((await following.get('/v1/topics')).status).toBe(503);
    await follow();
    await expectSameAnswers([...FREE, `/v1/data?indicator=${LIFE}`]);
  });

  test('switches under load without a failed request', async () => {
    await writeFixture(source, {
      id: SECOND,
      generatedAt: '2026-11-21T02:00:00+00:00',
      indicators: movedBy(1000),
    });
    await setCurrentSnapshot(source, SECOND);
    await sign();
    const seen = new Set<unknown>();
    let isDone = false;
    const call = async (): Promise<void> => {
      while (!isDone) {
        const { status, headers } = await following.get(`/v1/data?indicator=${LIFE}&countries=KEN`, { key });
        expect(status).toBe(200);
        seen.add(headers['x-snapshot']);
      }
    };
    const calls = Array.from({ length: 4 }, call);
    await follow();
    await expect.poll(() => seen.has(SECOND)).toBe(true);
    isDone = true;
    await Promise.all(calls);
    await direct.snapshots.check();
    await expectSameAnswers([...FREE, `/v1/data?indicator=${LIFE}`]);
  });
});

describe('history', () => {
  /** A mirror that has never served the first edition. */
  test('is fetched when it is asked for, and verified', async () => {
    const name = observationsFile(OTHER);
    const path = (await fixturePath(source, name, FIXTURE_ID)).replace(source, mirror);
    await rm(path);
    await writeFile(path, 'of another length');
    expect((await readFile(path)).length).toBe(17);
    await expectSameAnswers(HISTORY);
    expect(await isMirrored(name, FIXTURE_ID)).toBe(true);
    expect(await readFile(path)).toEqual(await readFile(path.replace(mirror, source)));
  });

  test('that cannot be fetched answers 503, and nothing else does', async () => {
    const indicator = 'alpha.population_total';
    await rm((await fixturePath(source, observationsFile(indicator), FIXTURE_ID)).replace(source, mirror));
    const path = `/v1/data?indicator=${indicator}&as_of=${FIXTURE_ID}`;
    origin.fault = () => (response) => void response.destroy();
    logged.length = 0;
    for (let call = 0; call < 5; call += 1) {
      const refused = await following.get(path, { key });
      expect([refused.status, codeOf(refused)]).toEqual([503, 'unavailable']);
    }
    expect(logged).toEqual([]);
    expect((await following.get(`/v1/data?indicator=${indicator}`, { key })).status).toBe(200);
    expect(await following.snapshots.fault()).toBeNull();
    origin.fault = () => undefined;
    await expectSameAnswers([path]);
  });

  test('a damaged file of any edition is fetched anew for the first call that needs it', async () => {
    const paths = [
      await fixturePath(mirror, observationsFile(LIFE), SECOND),
      await fixturePath(mirror, observationsFile(OTHER), FIXTURE_ID),
      await fixturePath(mirror, indicatorFile(LIFE), SECOND),
    ];
    const sound = await Promise.all(paths.map((path) => readFile(path)));
    for (const [at, path] of paths.entries()) await writeFile(path, flipped(sound[at]));
    const copy = await mkdtemp(join(tmpdir(), 'alm-copy-'));
    await cp(mirror, copy, { recursive: true });
    const copied = new ObjectFetcher({ directory: copy, client, now: Date.now });
    const service = await Service.start({ snapshots: copy, origin: copied, settings: QUIET });
    const account = await service.account({ credits: 1_000 });
    for (const path of [
      `/v1/data?indicator=${LIFE}`,
      `/v1/data?indicator=${OTHER}&as_of=${FIXTURE_ID}`,
      `/v1/indicators/${LIFE}`,
    ]) {
      const answer = await service.get(path, { key: account.key });
      expect(answer.status).toBe(200);
      expect(answer.text).toBe((await direct.get(path, { key: directKey })).text);
    }
    for (const [at, path] of paths.entries())
      expect(await readFile(path.replace(mirror, copy))).toEqual(sound[at]);
    expect(service.snapshots.damages).toBe(paths.length);
    await service.stop();
    await rm(copy, { recursive: true });
    for (const [at, path] of paths.entries()) await writeFile(path, sound[at] ?? '');
  });
});
