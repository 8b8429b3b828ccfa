/** What the builder withholds, its followers withhold, too: with the same answers for every edition, and every proof left. */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { DirectoryTarget, push } from '../../../../../build/editions/push/push.ts';
import { decideToWithhold, deleteWithheld } from '../../../../../build/editions/withhold.ts';
import { parseSigningKey } from '../../../../../data/proofs/signing-key.ts';
import {
  type LogKey,
  parseKey,
  parseKeys,
  readCheckpoint,
  verifyReceipt,
} from '../../../../../data/proofs/verify-receipt.ts';
import { readWithheld, readWithheldNote } from '../../../../../data/runtime/withheld.ts';
import { stopAfterTests, useDirectory } from '../../../../after-tests.ts';
import { World } from '../../../../build/world.ts';
import { HttpOrigin } from '../../../../http-origin.ts';
import { type Service, useService } from '../../../service.ts';
import { followOrigin } from './followed.ts';

const pinned: LogKey[] = [];

async function night(more: number): Promise<string> {
  const gates = { max_row_drop: 1, max_country_drop: 1 };
  await world.define('atlas', { gates });
  await world.publish('atlas', {
    secret: { cells: [['FRA', 2000, 50 + more]] },
    open: {
      cells: [
        ['FRA', 2000, 60 + more],
        ['DEU', 2000, 61],
      ],
    },
  });
  await world.ingest('atlas');
  const { snapshot } = await world.build();
  world.tomorrow();
  return snapshot;
}

/** As a builder does after each publication. */
async function pushAndFollow(services: readonly Service[]): Promise<void> {
  const options = { keep: world.settings.SNAPSHOT_KEEP, removeOthers: true };
  await push(world.snapshots, new DirectoryTarget(target), options);
  await follower.check();
  expect(follower.fault).toBeNull();
  for (const service of services) await service.snapshots.check();
}

const keys = async (): Promise<LogKey[]> =>
  parseKeys(await readFile(join(world.settings.SNAPSHOT_DIR, 'keys.json'), 'utf8'));

const world = await World.use();
const ids: string[] = [await night(0), await night(1), await night(2)];
pinned.push(...(await keys()));
const target = await useDirectory();
const mirror = await useDirectory();
const origin = await stopAfterTests(HttpOrigin.start(target));
const { fetcher, follower, stop } = followOrigin({ url: origin.url, directory: mirror, keys: pinned });
afterAll(stop);
await pushAndFollow([]);
const direct = await useService({ snapshots: world.settings.SNAPSHOT_DIR });
const following = await useService({ snapshots: mirror, origin: fetcher });
const accounts: { direct: string; following: string } = {
  direct: (await direct.account({ credits: 1_000 })).key,
  following: (await following.account({ credits: 1_000 })).key,
};

const questions = (indicator: string): string[] =>
  ids.flatMap((id) => [
    `/v1/data?indicator=${indicator}&as_of=${id}`,
    `/v1/receipts?indicator=${indicator}&country=FRA&year=2000&as_of=${id}`,
    `/v1/countries/FRA?as_of=${id}`,
    `/v1/indicators?as_of=${id}`,
  ]);

/** Both services give the same answers. @returns them by path */
async function answers(indicator: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const path of questions(indicator)) {
    const there = await direct.get(path, { key: accounts.direct });
    const here = await following.get(path, { key: accounts.following });
    expect([path, here.status, here.text]).toEqual([path, there.status, there.text]);
    found.set(path, `${here.status} ${here.text}`);
  }
  return found;
}

test('a follower answers what the builder answers before and after a series is withheld', async () => {
  for (const answer of (await answers('atlas.secret')).values()) expect(answer).toMatch(/^200 /);
  await decideToWithhold(world.withholding, 'atlas.secret', 'an order');
  await world.build();
  await pushAndFollow([direct, following]);
  // Opened by now with the lists that held the series.
  await answers('atlas.secret');
  await deleteWithheld(world.withholding, world.settings.SNAPSHOT_KEEP);
  await rm(join(mirror, 'objects'), { recursive: true });
  await pushAndFollow([direct, following]);
  expect(await readWithheld(mirror)).toEqual(await world.snapshots.withheld());
  for (const [path, answer] of await answers('atlas.secret')) {
    expect(answer, path).toMatch(path.includes('indicator=') ? /^404 / : /^200 /);
    expect(answer.includes('"atlas.secret"'), path).toBe(false);
  }
  const known = await keys();
  for (const [path, answer] of await answers('atlas.open')) {
    expect(answer, path).toMatch(/^200 /);
    if (path.startsWith('/v1/receipts')) verifyReceipt(answer.slice('200 '.length), known);
  }
});

test('the signature of what is withheld is renewed with the key, and is no checkpoint', async () => {
  const before = await world.snapshots.withheld();
  await world.withholding.signer.rotate();
  const next = parseSigningKey(await readFile(join(world.settings.SIGNING_DIR, 'key'), 'utf8'));
  pinned.push(parseKey(next.publicKey));
  await night(3);
  await pushAndFollow([direct, following]);
  const { note = '', ...content } = await readWithheld(mirror);
  const { note: earlier = '', ...same } = before;
  expect(content).toEqual(same);
  const known = await keys();
  expect(readWithheldNote(note, known).signed_at).toBe(readWithheldNote(earlier, null).signed_at);
  expect(() => readWithheldNote(earlier, known)).toThrow('No known key in use');
  expect(() => readWithheldNote(note.replace('withheld', 'withhold'), known)).toThrow('not in the form');
  expect(() => readCheckpoint(note, known)).toThrow('not in the form of a checkpoint');
});
