/**
 * Faults of a provider never change what is served: after each, the run record names the cause, the gateway responds with
 * the same bytes, and all visible files of the lake and of the snapshots are complete.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nightly } from '../../../build/nightly.ts';
import { Service } from '../../gateway/service.ts';
import { checkStoredState } from '../stored-state.ts';
import { World } from '../world.ts';
import { type FaultyUpstream, SHORT, startFaultyUpstream, upstreamFaults } from './faulty-upstream.ts';

const ROUTES = ['/v1/indicators', '/v1/countries/FRA', '/v1/data?indicator=atlas.one', '/v1/meta/freshness'];

describe('a faulty provider', () => {
  let world: World;
  let upstream: FaultyUpstream;
  let service: Service;
  let key: string;
  let before: string[];

  beforeAll(async () => {
    world = await World.create();
    upstream = await startFaultyUpstream();
    world.settings.PROVIDER_MIRROR = upstream.url;
    upstream.publish(1);
    expect(await world.ingest('atlas', { upstream: SHORT })).toMatchObject({ status: 'succeeded' });
    await world.build();
    service = await Service.start({ snapshots: world.settings.SNAPSHOT_DIR });
    ({ key } = await service.account({ credits: 1_000_000 }));
    before = await answers();
  });
  afterAll(async () => {
    await service?.stop();
    await upstream?.stop();
    await world?.remove();
  });

  const answers = () =>
    Promise.all(ROUTES.map(async (route) => (await service.get(route, { key })).bytes.toString('base64')));

  // Test names are needed before the neighbour's port is known.
  it.each(upstreamFaults(1).map(({ name }, index) => [name.replace(':1/', ':<port>/'), index] as const))(
    '%s',
    async (_, index) => {
      const fault = upstreamFaults(upstream.neighbour)[index];
      if (!fault) throw new Error('no such fault');
      world.tomorrow();
      upstream.publish(2);
      upstream.setFault(fault);
      const record = await world.ingest('atlas', { upstream: { ...SHORT, ...fault.timeouts } });
      upstream.setFault(null);
      expect(record.status).toBe(fault.status ?? 'failed');
      expect(record.reason).toMatch(fault.reason);
      expect(upstream.visits()).toBe(0);
      expect(await answers()).toEqual(before);
      expect(await checkStoredState(world.settings.LAKE_DIR, world.settings.SNAPSHOT_DIR)).toBeGreaterThan(1);
      expect((await world.lake('atlas').current())?.record.started_at).toBe('2026-11-20T12:00:00+00:00');
    },
  );

  it('is read again once the fault is gone', async () => {
    world.tomorrow();
    const { providers, build } = await nightly({ ...(await world.dependencies()), upstream: SHORT });
    expect(providers).toMatchObject([{ provider: 'atlas', outcome: 'succeeded' }]);
    expect(build?.counts).toMatchObject({ indicators: 2, observations: 200 });
    await checkStoredState(world.settings.LAKE_DIR, world.settings.SNAPSHOT_DIR);
  });
});
