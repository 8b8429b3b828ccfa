/** Editions of nights before the first publication, made from the lake. */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, describe, expect, it } from 'vitest';
import { backfill } from '../../../build/editions/backfill.ts';
import { buildSnapshot } from '../../../build/editions/build-snapshot.ts';
import { SnapshotStorage } from '../../../build/editions/snapshot-storage.ts';
import { decideToWithhold, deleteWithheld } from '../../../build/editions/withhold.ts';
import { nightly } from '../../../build/nightly.ts';
import { editionChanges, type FileList } from '../../../data/schema/snapshot.ts';
import { smallSite } from '../../nights/sites.ts';
import { UpstreamChanges } from '../../nights/upstream-changes.ts';
import { checkStoredState } from '../stored-state.ts';
import { World } from '../world.ts';

const NIGHTS = 6;
const DAY_MS = 86_400_000;

/** The kept files of each night when it was published, and when that was. */
const served: { at: string; kept: FileList }[] = [];

/** What figures and catalogue are; findings tell how often a build saw something. */
const figuresOf = (kept: FileList): [string, string][] =>
  Object.entries(kept)
    .filter(([name]) => !name.startsWith('quality/'))
    .map(([name, { sha256 }]): [string, string] => [name, sha256])
    .sort();

const { site } = await smallSite();
const storage = new SnapshotStorage(site.settings.SNAPSHOT_DIR);
const changes = new UpstreamChanges(join(site.directory, 'mirror'), 3);
for (let night = 0; night < NIGHTS; night += 1) {
  site.clock += DAY_MS;
  await changes.revise({ files: 2, figures: 5 }, site.clock);
  const { build } = await nightly(await site.dependencies(), { all: true });
  const { kept } = await storage.open(build?.snapshot ?? '');
  served.push({ at: build?.generated_at ?? '', kept });
}
await rm(site.settings.SNAPSHOT_DIR, { recursive: true });
await rm(site.settings.SIGNING_DIR, { recursive: true });
site.clock += 10 * DAY_MS;
afterAll(() => site.remove());

describe('backfill', () => {
  it('needs a publication, before which it adds editions', async () => {
    await expect(backfill(await site.dependencies())).rejects.toThrow('nothing is published yet');
  });

  it('changes nothing when it is stopped halfway', async () => {
    await buildSnapshot(await site.dependencies());
    const before = await storage.log();
    const stop = new AbortController();
    let built = 0;
    const write = (line: string): void => {
      if (line.includes('snapshot published')) built += 1;
      if (built === NIGHTS / 2) stop.abort(new Error('stopped'));
    };
    const log = pino({ level: 'info' }, { write });
    await expect(backfill({ ...(await site.dependencies()), log, signal: stop.signal })).rejects.toThrow(
      'stopped',
    );
    expect(built).toBe(NIGHTS / 2);
    expect(await storage.log()).toEqual(before);
  });

  it('makes an edition of each night, with the files that were published then', async () => {
    const [first] = (await storage.log()).editions;
    const { editions, left_out, lost } = await backfill(await site.dependencies());
    expect([left_out, lost]).toEqual([[], []]);
    const log = (await storage.log()).editions;
    expect(log.map(({ edition }) => edition)).toEqual([first?.edition, ...editions]);
    expect(log.slice(1).map(({ published_at: at }) => at)).toEqual(served.map(({ at }) => at));
    for (const [night, edition] of editions.entries()) {
      const { kept } = await storage.open(edition);
      expect(figuresOf(kept), `night ${night}`).toEqual(figuresOf(served[night]?.kept ?? {}));
    }
  });

  it('marks them, and leads from the first publication back to them', async () => {
    const [first, ...added] = (await storage.log()).editions;
    expect(added.every(({ backfilled }) => backfilled === true)).toBe(true);
    expect(first).not.toHaveProperty('backfilled');
    expect(added.map(({ base }) => base)).toEqual([
      null,
      ...added.slice(0, -1).map(({ edition }) => edition),
    ]);
    expect(first?.base).toBe(added.at(-1)?.edition);
    expect(await storage.currentId()).toBe(first?.edition);
    for (const { edition } of added)
      expect((await storage.publishedManifest(edition)).lineage.backfilled).toBe(true);
  });

  it('stores what changed in each, and in the first publication', async () => {
    const [first, ...added] = (await storage.log()).editions;
    expect([first?.changed, added[0]?.changes]).toEqual([{}, null]);
    const nights = await Promise.all(
      [first, ...added.slice(1)].map(async (entry) => {
        const text = await readFile(storage.pathOf(entry?.changes ?? { sha256: '' }), 'utf8');
        return Object.keys(editionChanges.parse(JSON.parse(text)).revised).length;
      }),
    );
    expect(nights[0]).toBe(0);
    expect(Math.max(...nights)).toBeGreaterThan(0);
    await checkStoredState(site.settings.LAKE_DIR, site.settings.SNAPSHOT_DIR);
  });

  it('adds nothing when it is repeated', async () => {
    const before = await storage.log();
    expect(await backfill(await site.dependencies())).toEqual({ editions: [], left_out: [], lost: [] });
    expect(await storage.log()).toEqual(before);
  });

  it('is what the next night builds on', async () => {
    site.clock += DAY_MS;
    const { snapshot, is_new: isNew } = await buildSnapshot(await site.dependencies());
    expect([snapshot, isNew]).toEqual([(await storage.log()).editions[0]?.edition, false]);
  });
});

it('makes no edition with a series that is withheld', async () => {
  const world = await World.create();
  await world.ingestSeries({ cows: { cells: [['FRA', 2000, 1]] }, goats: { cells: [['FRA', 2000, 2]] } });
  world.tomorrow();
  await world.build();
  await decideToWithhold(world.withholding, 'atlas.cows', 'a court said so');
  world.tomorrow();
  await world.build();
  await deleteWithheld(world.withholding, world.settings.SNAPSHOT_KEEP);
  const { editions } = await backfill(await world.dependencies());
  expect(editions).toHaveLength(1);
  const names = Object.keys((await world.snapshots.open(editions[0] ?? '')).kept);
  expect(names.filter((name) => name.startsWith('observations/'))).toEqual([
    'observations/atlas.goats.parquet',
  ]);
  await world.remove();
});
