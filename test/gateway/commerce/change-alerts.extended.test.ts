/** Digests of editions that were built and published, against what `/v1/changes` says of them. */
import { randomBytes } from 'node:crypto';
import { afterAll, expect, it } from 'vitest';
import { ScriptRunner } from '../../../data/runtime/redis-scripts.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { UsedIndicators } from '../../../gateway/api/metering/usage.ts';
import {
  ChangeAlerts,
  type EditionDigest,
} from '../../../gateway/commerce/notifications/alerts/change-alerts.ts';
import { Outbox } from '../../../gateway/commerce/notifications/outbox.ts';
import { useRedis } from '../../redis.ts';
import { createWorld, UNLIMITED } from '../api/metering/harness.ts';
import { tellStory } from '../edition-story.ts';
import { openSnapshots } from '../open-snapshots.ts';
import { useService } from '../service.ts';

interface Change {
  edition: string;
  published_at: string;
  withdrawn: string[];
  renamed: { from: string; to: string }[];
  redefined: { indicator: string; unit: object | null; name: object | null; definition: object | null }[];
  revised: { indicator: string; changed: number; withdrawn: number; restored: number }[];
}

const story = await tellStory();
afterAll(() => story.world.remove());
const { SNAPSHOT_DIR: directory } = story.world.settings;
const service = await useService({ snapshots: directory });
const snapshots = await openSnapshots(directory);
afterAll(() => snapshots.close());
const redis = await useRedis();
const world = createWorld(await redis.connect(), UNLIMITED);

/** What an account that uses these indicators should be told of an edition, as lines. */
function linesOf({ withdrawn, renamed, revised, redefined }: Change, used: readonly string[]): string[] {
  const lines = withdrawn.filter((id) => used.includes(id)).map((id) => `${id} withdrawn`);
  for (const { from, to } of renamed) if (used.includes(from)) lines.push(`${from} renamed ${to}`);
  for (const { indicator, changed, withdrawn: gone, restored } of revised) {
    const name = renamed.find(({ to }) => to === indicator)?.from ?? indicator;
    const figures = changed + gone + restored;
    if (figures > 0 && used.includes(name)) lines.push(`${name} revised ${figures}`);
  }
  for (const { indicator, ...members } of redefined) {
    const name = renamed.find(({ to }) => to === indicator)?.from ?? indicator;
    const changed = (['unit', 'name', 'definition'] as const).filter((one) => members[one] !== null);
    if (used.includes(name)) lines.push(`${name} redefined ${changed.join(' ')}`);
  }
  return lines.sort();
}

it('name what the served editions changed, and nothing of one that was rolled back', async () => {
  const { data } = JSON.parse((await service.get('/v1/changes')).text) as { data: Change[] };
  const changes = data.toReversed();
  expect(changes.map(({ edition }) => edition)).toEqual(story.served);
  const [first, ...later] = changes;
  const base = { redis: world.redis, now: () => world.clock.ms, random: randomBytes };
  const outbox = new Outbox(base);
  const alerts = new ChangeAlerts({ ...base, served: snapshots, outbox });
  const usedBy = new Map<string, string[]>();
  for (const ids of [['atlas.cows', 'atlas.goats', 'atlas.lamas'], ['atlas.sheep'], ['atlas.never']]) {
    const { account_id } = await world.customer();
    usedBy.set(account_id, ids);
    const used = new UsedIndicators(new ScriptRunner(world.redis));
    used.note(account_id, ids, Date.parse(first?.published_at ?? ''));
    await used.flush();
  }
  // As if alerts had begun with the first edition.
  await world.redis.set(redisKeys.toldEdition, Date.parse(first?.published_at ?? ''));
  const told: Record<string, string[]> = {};
  await alerts.findConcerned();
  for (const account_id of usedBy.keys())
    await outbox.drain(account_id, async ({ type, data }) => {
      if (type !== 'indicators.changed') return 'left';
      const { edition, changed } = data as EditionDigest;
      told[`${account_id} ${edition}`] = changed
        .map(({ indicator, change, to, figures, redefined }) =>
          [indicator, change, to ?? figures ?? redefined?.join(' ')].join(' ').trim(),
        )
        .sort();
      return 'taken';
    });
  const expected: Record<string, string[]> = {};
  for (const change of later)
    for (const [account_id, ids] of usedBy) {
      const lines = linesOf(change, ids);
      if (lines.length > 0) expected[`${account_id} ${change.edition}`] = lines;
      // From the next edition on, what was renamed is followed under its new id.
      for (const { from, to } of change.renamed) if (ids.includes(from)) ids.push(to);
    }
  expect(told).toEqual(expected);
  expect(Object.values(expected).flat()).toEqual(
    expect.arrayContaining([
      'atlas.cows renamed atlas.cattle',
      'atlas.goats withdrawn',
      expect.stringContaining('atlas.cows revised'),
      expect.stringContaining('atlas.sheep renamed atlas.ewes'),
    ]),
  );
  expect(JSON.stringify(told)).not.toContain(story.rolledBack);
});
