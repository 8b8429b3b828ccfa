/** Starter data are replaced by upstream's figures, provider by provider, and never compared with them. */
import { beforeEach, describe, expect, it } from 'vitest';
import { ingestProvider } from '../../build/ingest/ingest-provider.ts';
import { type NightlyOptions, type NightlySummary, nightly } from '../../build/nightly.ts';
import { STEPS } from '../../build/steps.ts';
import { readSettings } from '../../data/runtime/settings.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import { cells, World } from './world.ts';

/** Two series with a long, recent history. */
const STARTER = {
  one: { unit: 'years', cells: cells(20) },
  two: { cells: cells(20) },
};
/** What every quality gate would hold: fewer rows and places, an older newest year, another unit, other magnitudes. */
const UPSTREAM = { one: { unit: 'months', cells: cells(5, (place) => 1000 + place).slice(0, 25) } };

let world: World;
beforeEach(async () => {
  world = await World.ofTest({ atlas: { starter: {} }, globe: { starter: { path: 'round' } }, rest: {} });
  await world.publishStarter('atlas', STARTER);
  await world.publishStarter('round', { three: STARTER.one });
  await world.publish('atlas', UPSTREAM);
});

async function starterStep(): Promise<NightlySummary> {
  const { VAR_DIR, CURATED_DIR } = world.settings;
  const settings = { ...readSettings({ VAR_DIR, CURATED_DIR }), PROVIDER_MIRROR: undefined };
  const step = STEPS.get('starter');
  const done = await step?.run({ ...(await world.dependencies()), settings }, {});
  return done?.result as NightlySummary;
}
const night = async (options: NightlyOptions = {}): Promise<NightlySummary> =>
  nightly(await world.dependencies(), options);
const outcomes = ({ providers }: NightlySummary): Record<string, string> =>
  Object.fromEntries(providers.map(({ provider, outcome }) => [provider, outcome]));
const currentRun = async (id: string): Promise<RunRecord | undefined> =>
  (await world.lake(id).current())?.record;

async function served(): Promise<Record<string, { rows: number | null; loaded: string | null }>> {
  const { data } = await world.body('routes/freshness.json');
  const records = data as {
    provider_id: string;
    last_ok_rows: number | null;
    last_ok_finished_at: string | null;
  }[];
  return Object.fromEntries(
    records.map((one) => [one.provider_id, { rows: one.last_ok_rows, loaded: one.last_ok_finished_at }]),
  );
}

describe('the step starter', () => {
  it('publishes the starter data of every provider that has some, without an upstream', async () => {
    const summary = await starterStep();
    expect(outcomes(summary)).toEqual({ atlas: 'succeeded', globe: 'succeeded' });
    expect(summary.build?.counts).toMatchObject({ providers: 2, indicators: 3 });
    expect(await currentRun('atlas')).toMatchObject({ starter: true, rows_written: 400, vintage: '1.0.0' });
  });

  it('is no load: freshness knows of none, and the provider is due', async () => {
    await starterStep();
    const none = { rows: null, loaded: null };
    expect(await served()).toMatchObject({ atlas: none, globe: none });
    expect(outcomes(await night())).toMatchObject({ atlas: 'succeeded' });
    expect(await served()).toMatchObject({ atlas: { rows: 25, loaded: expect.any(String) }, globe: none });
  });

  it('leaves a provider alone whose upstream was read', async () => {
    await world.ingest('atlas');
    expect(outcomes(await starterStep())).toEqual({ globe: 'succeeded' });
    expect(await currentRun('atlas')).not.toHaveProperty('starter');
  });

  it('changes nothing when it is repeated', async () => {
    await starterStep();
    expect(outcomes(await starterStep())).toEqual({ atlas: 'unchanged', globe: 'unchanged' });
    expect((await world.lake('atlas').records()).map(({ starter }) => starter)).toEqual([true, true]);
  });
});

describe("upstream's first run", () => {
  it('replaces the starter data, is not held against them and counts no revisions', async () => {
    await starterStep();
    world.tomorrow();
    expect(outcomes(await night())).toMatchObject({ atlas: 'succeeded', globe: 'failed' });
    const record = await currentRun('atlas');
    expect(record).toMatchObject({ status: 'succeeded', reason: null, rows_written: 25, indicators: 1 });
    expect(record).not.toHaveProperty('revisions');
    expect(record).not.toHaveProperty('starter');
  });

  it('replaces provider by provider: the others keep their starter data', async () => {
    await starterStep();
    world.tomorrow();
    const summary = await night();
    expect(summary.build?.counts).toMatchObject({ providers: 2, indicators: 2 });
    expect(await currentRun('globe')).toMatchObject({ starter: true });
    world.tomorrow();
    await world.publish('globe', { three: UPSTREAM.one });
    expect(outcomes(await night())).toMatchObject({ globe: 'succeeded' });
    expect(await currentRun('globe')).not.toHaveProperty('starter');
  });

  it('is what the second one is compared with', async () => {
    await starterStep();
    await night();
    world.tomorrow();
    await world.publish('atlas', { one: { unit: 'months', cells: cells(1) } });
    expect(outcomes(await night())).toMatchObject({ atlas: 'suspicious' });
    expect(await currentRun('atlas')).toMatchObject({ rows_written: 25 });
  });

  it('keeps the starter figures of a series that it cannot read', async () => {
    await starterStep();
    world.tomorrow();
    const twice = [...cells(5), ['FRA', 2001, 99] as [string, number, number]];
    await world.publish('atlas', { one: UPSTREAM.one, two: { cells: twice } });
    const record = await ingestProvider(await world.dependencies(), 'atlas');
    expect(record).toMatchObject({ status: 'succeeded', carried_indicators: ['two'], rows_carried: 200 });
  });

  it('reads files again that equal the starter data', async () => {
    await starterStep();
    await world.publish('atlas', STARTER);
    expect(outcomes(await night())).toMatchObject({ atlas: 'succeeded' });
    expect(await currentRun('atlas')).not.toHaveProperty('starter');
  });
});
