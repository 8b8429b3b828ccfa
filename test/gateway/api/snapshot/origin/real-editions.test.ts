/** Editions that the build made, pushed and followed: every question about every one of them has the same answer. */
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { DirectoryTarget, push } from '../../../../../build/editions/push/push.ts';
import { parseKeys } from '../../../../../data/proofs/verify-receipt.ts';
import { stopAfterTests, useDirectory } from '../../../../after-tests.ts';
import { HttpOrigin } from '../../../../http-origin.ts';
import { tellStory } from '../../../edition-story.ts';
import { codeOf, Service } from '../../../service.ts';
import { followOrigin } from './followed.ts';

const INDICATORS = ['atlas.cattle', 'atlas.goats', 'atlas.ewes', 'atlas.lamas'];

const story = await tellStory();
afterAll(() => story.world.remove());
const { SNAPSHOT_DIR, SNAPSHOT_KEEP } = story.world.settings;
const target = await useDirectory();
const mirror = await useDirectory();
await push(story.world.snapshots, new DirectoryTarget(target), { keep: SNAPSHOT_KEEP });
const origin = await stopAfterTests(HttpOrigin.start(target));
const keys = parseKeys(await readFile(join(SNAPSHOT_DIR, 'keys.json'), 'utf8'));
const { fetcher, follower, stop } = followOrigin({ url: origin.url, directory: mirror, keys });
afterAll(stop);
await follower.check();
expect(follower.fault).toBeNull();
const started: Service[] = [];
afterAll(async () => {
  for (const service of started) await service.stop();
});

async function start(snapshots: string): Promise<Service> {
  const service = await Service.start({ snapshots, ...(snapshots === mirror && { origin: fetcher }) });
  started.push(service);
  return service;
}
const direct = await start(SNAPSHOT_DIR);

const objectsIn = async (directory: string): Promise<number> =>
  (await readdir(join(directory, 'objects'), { recursive: true })).length;

const questions = (): string[] => [
  ...INDICATORS.map((id) => `/v1/revisions?indicator=${id}`),
  ...[...story.served, story.rolledBack].flatMap((id) => [
    ...INDICATORS.map((indicator) => `/v1/data?indicator=${indicator}&as_of=${id}`),
    ...[`/v1/rankings/atlas.ewes?as_of=${id}`, `/v1/countries/FRA?as_of=${id}`, `/v1/indicators?as_of=${id}`],
  ]),
  ...[
    '/v1/editions',
    '/v1/changes',
    '/v1/indicators',
    '/v1/countries/FRA',
    '/v1/verify?claim=atlas.cattle,FRA,2001,52',
  ],
];

test('a mirror begins with less than the target has, and answers every question about history', async () => {
  const before = await objectsIn(mirror);
  expect(before).toBeLessThan(await objectsIn(target));
  const following = await start(mirror);
  const { key } = await following.account({ credits: 1_000_000 });
  const { key: directKey } = await direct.account({ credits: 1_000_000 });
  const statuses: number[] = [];
  for (const path of questions()) {
    const [here, there] = [await following.get(path, { key }), await direct.get(path, { key: directKey })];
    expect([path, here.status, here.text]).toEqual([path, there.status, there.text]);
    statuses.push(here.status);
  }
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(questions().length / 2);
  expect(await objectsIn(mirror)).toBeGreaterThan(before);
});

test('history that is gone from disk while the origin is away is unavailable, and comes back with it', async () => {
  await rm(join(mirror, 'objects'), { recursive: true });
  const { key } = await direct.account({ credits: 1_000 });
  const expected = await direct.get('/v1/revisions?indicator=atlas.cattle', { key });
  await follower.close();
  await fetcher.ensure(await servedObjects());
  const following = await start(mirror);
  const account = await following.account({ credits: 1_000 });
  const ask = () => following.get('/v1/revisions?indicator=atlas.cattle', { key: account.key });
  origin.fault = () => (response) => void response.destroy();
  const refused = await ask();
  expect([refused.status, codeOf(refused)]).toEqual([503, 'unavailable']);
  origin.fault = () => undefined;
  expect((await ask()).text).toBe(expected.text);
});

/** Those that a follower would fetch. */
async function servedObjects() {
  const { kept, manifest } = (await story.world.snapshots.current()) ?? {};
  if (!kept || !manifest) throw new Error('nothing is served');
  const prerendered = (await story.world.snapshots.prerendered({ manifest })) ?? {};
  const lists = [...Object.values(manifest.providers), manifest.prerendered];
  return [...Object.values(kept), ...Object.values(prerendered), ...lists];
}
