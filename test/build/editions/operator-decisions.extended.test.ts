/** What operators decide about providers, licences and findings, in builds: obeyed, remembered, and never wider than allowed. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { withDecisions } from '../../../build/editions/plan/licensing.ts';
import { decideToWithhold } from '../../../build/editions/withhold.ts';
import { nightly } from '../../../build/nightly.ts';
import { loadDecisions } from '../../../build/runtime/redis-connection.ts';
import {
  type LicenceDecision,
  NO_DECISIONS,
  type OperatorDecisions,
  type ProviderDecision,
} from '../../../data/schema/operator-changes.ts';
import type { QualityDecision } from '../../../data/schema/quality.ts';
import { ROUTE_FILES } from '../../../data/schema/snapshot.ts';
import { silentLog, startRedis } from '../../redis.ts';
import { cells, type Series, World } from '../world.ts';

const WHO = { by: 'ann@example.org', decided_at_ms: 1 };
/** Long, so that a run without the other series is not held. */
const one: Series = { name: 'One', cells: cells(20, (place, year) => place + year) };
/** Of a collector whose terms withhold it. */
const lent: Series = { name: 'Lent', source: 'Estimates of IHME', cells: [['FRA', 2000, 2]] };

let world: World;
beforeEach(async () => {
  world = await World.ofTest({ atlas: {}, globe: {} });
  await world.publish('atlas', { one, lent });
  await world.publish('globe', { other: one });
});

const decided = (more: Partial<OperatorDecisions>) => async (): Promise<OperatorDecisions> => ({
  ...NO_DECISIONS,
  ...more,
});
const provider = (enabled: boolean): ProviderDecision => ({ enabled, reason: 'They asked.', ...WHO });
const publish = (tier: 'open' | 'display'): LicenceDecision => ({
  publish: tier,
  licence: 'Letter of 1 May',
  licence_url: null,
  attribution: 'IHME, by letter',
  reason: 'They wrote so.',
  ...WHO,
});
const refused: LicenceDecision = { publish: 'withhold', reason: 'They said no.', ...WHO };
const licences = (decision: LicenceDecision) => decided({ licences: new Map([['atlas.lent', decision]]) });

async function ingestAll(): Promise<void> {
  for (const id of ['atlas', 'globe']) await world.ingest(id);
}

async function published(): Promise<Record<string, unknown>[]> {
  return (await world.body(ROUTE_FILES.indicators)).data as Record<string, unknown>[];
}
const ids = async () => (await published()).map(({ id }) => id).sort();

describe('a provider', () => {
  it('that is switched off is in no build and is not read by night', async () => {
    await ingestAll();
    const decisions = decided({ providers: new Map([['globe', provider(false)]]) });
    await world.build({ decisions });
    expect(await ids()).toEqual(['atlas.one']);
    const given = await world.dependencies();
    const curated = withDecisions(given.curated, await decisions());
    const { providers } = await nightly({ ...given, curated, decisions }, { all: true });
    expect(providers.map(({ provider: id }) => id)).toEqual(['atlas']);
    await world.build();
    expect(await ids()).toEqual(['atlas.one', 'globe.other']);
  });

  it('that its definition disables can be switched on', async () => {
    await world.define('globe', { enabled: false });
    await ingestAll();
    await world.build({ decisions: decided({ providers: new Map([['globe', provider(true)]]) }) });
    expect(await ids()).toEqual(['atlas.one', 'globe.other']);
  });

  it('that law demands to withhold cannot be switched on', async () => {
    await ingestAll();
    await world.build();
    await decideToWithhold(world.withholding, 'globe', 'a court ordered it');
    await world.build({ decisions: decided({ providers: new Map([['globe', provider(true)]]) }) });
    expect(await ids()).toEqual(['atlas.one']);
  });
});

describe('a series that is withheld for its licence', () => {
  it.each(['open', 'display'] as const)(
    'is published as %s under the licence of the decision',
    async (tier) => {
      await ingestAll();
      await world.build();
      expect(await ids()).toEqual(['atlas.one', 'globe.other']);
      await world.build({ decisions: licences(publish(tier)) });
      expect((await published()).find(({ id }) => id === 'atlas.lent')).toMatchObject({
        licence: 'Letter of 1 May',
        licence_url: null,
        access_tier: tier,
        attribution: 'IHME, by letter',
      });
    },
  );

  it('is withheld again with the reason, also after it has vanished upstream', async () => {
    await ingestAll();
    await world.build({ decisions: licences(publish('open')) });
    const excluded: unknown[] = [];
    const observer = { onExcluded: (all: readonly unknown[]) => excluded.push(...all) };
    await world.build({ decisions: licences(refused), observer });
    expect(await ids()).toEqual(['atlas.one', 'globe.other']);
    expect(excluded).toMatchObject([
      { id: 'atlas.lent', why: 'not redistributable', detail: 'They said no.' },
    ]);
    world.tomorrow();
    await world.ingestSeries({ one });
    await world.build({ decisions: licences(refused) });
    expect(JSON.stringify(await world.served())).not.toContain('atlas.lent');
    const { kept } = await world.snapshots.open((await world.snapshots.currentId()) ?? '');
    const terms = Object.entries(kept).filter(([name]) => name.startsWith('terms/'));
    for (const [, ref] of terms) expect(await world.snapshots.readText(ref)).not.toContain('atlas.lent');
  });

  it.each([
    ['withholds everything', { redistributable: false }, []],
    ['allows display only', { access_tier: 'display' }, ['display']],
  ])('is not published wider than a provider allows that %s', async (_, terms, tiers) => {
    await world.define('atlas', terms);
    await ingestAll();
    await world.build({ decisions: licences(publish('open')) });
    const found = (await published()).filter(({ id }) => id === 'atlas.lent');
    expect(found.map(({ access_tier }) => access_tier)).toEqual(tiers);
  });
});

describe('a finding that an operator decided', () => {
  const row: QualityDecision = {
    kind: 'twin_disagreement',
    subject: 'globe.other',
    other: 'atlas.one',
    extent: 3,
    decision: 'withhold',
    by: 'ann@example.org',
    on: '2026-11-21',
    reason: 'Not to be trusted.',
  };

  it('is obeyed like a row of the curated table', async () => {
    await ingestAll();
    const excluded: unknown[] = [];
    const observer = { onExcluded: (all: readonly unknown[]) => excluded.push(...all) };
    await world.build({ decisions: decided({ findings: [row] }), observer });
    expect(await ids()).toEqual(['atlas.one']);
    expect(excluded).toContainEqual(
      expect.objectContaining({ id: 'globe.other', why: 'withheld', detail: 'Not to be trusted.' }),
    );
  });

  it('comes before the curated row about the same pair, in either order, and beside all others', async () => {
    const { curated } = await world.dependencies();
    const same: QualityDecision = { ...row, subject: 'atlas.one', other: 'globe.other', decision: 'accept' };
    const another: QualityDecision = { ...same, kind: 'twin_scale' };
    const all = await decided({ findings: [row] })();
    const once = withDecisions({ ...curated, decisions: [same, another] }, all);
    expect(once.decisions).toEqual([row, another]);
    expect(withDecisions(once, all).decisions).toEqual(once.decisions);
  });
});

it('without Redis a build obeys the decisions that were seen last, and an unreadable one does not count as none', async () => {
  await using redis = await startRedis();
  const client = await redis.connect();
  await client.hset('decisions:providers', 'globe', JSON.stringify(provider(false)));
  const seen = await loadDecisions(client, world.settings, silentLog);
  expect(seen.providers.get('globe')).toEqual(provider(false));
  expect(await loadDecisions(null, world.settings, silentLog)).toEqual(seen);
  await client.hset('decisions:providers', 'globe', '{"enabled":"perhaps"}');
  expect(await loadDecisions(client, world.settings, silentLog)).toEqual(seen);
  const file = join(world.settings.LAKE_DIR, 'decisions.json');
  expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ licences: {} });
  await mkdir(world.settings.LAKE_DIR, { recursive: true });
  await writeFile(file, '{"providers":{"globe":"no JSON"},"licences":{}}');
  await expect(loadDecisions(null, world.settings, silentLog)).rejects.toThrow();
});
