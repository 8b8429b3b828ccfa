/** What the gateway of an earlier version answered, the migrated store answers, too: for the served snapshot and by `as_of`. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrateStore } from '../../build/editions/migrate.ts';
import { OLD_IDS, oldWorld } from '../build/editions/old-layout.ts';
import { type StoredAnswers, withoutEcho } from '../build/editions/stored-world.ts';
import type { World } from '../build/world.ts';
import { Service } from './service.ts';

const [FIRST, SECOND, SERVED, ROLLED_BACK] = OLD_IDS;
let world: World;
let answers: StoredAnswers;
let service: Service;
let key: string;

beforeAll(async () => {
  ({ world, answers } = await oldWorld());
  await migrateStore(await world.dependencies());
  service = await Service.start({ snapshots: world.settings.SNAPSHOT_DIR });
  ({ key } = await service.account({ credits: 1_000_000 }));
});
afterAll(async () => {
  await service.stop();
  await world.remove();
});

/** As the earlier version understood a path: it ignored an unknown parameter, which is refused now. */
const understood = (path: string): string =>
  path.startsWith('/v1/rankings/') ? path.replace('&limit=2', '') : path;

/** Paths that take `as_of`. */
const TAKES_AS_OF = /^\/v1\/(data|rankings\/|countries\/|indicators)/;

async function answered(path: string, asOf: string): Promise<{ status: number; text: string }> {
  const asked = understood(path);
  const url = `${asked}${asked.includes('?') ? '&' : '?'}as_of=${encodeURIComponent(asOf)}`;
  const { status, text } = await service.get(url, { key });
  return { status, text: withoutEcho(text, asOf) };
}

describe('a migrated store', () => {
  it('answers every path as before for the served snapshot', async () => {
    for (const [path, before] of Object.entries(answers[SERVED] ?? {})) {
      const { status, text } = await service.get(understood(path), { key });
      expect({ status, text }, path).toEqual(before);
    }
  });

  it.each([
    [FIRST, FIRST],
    [FIRST, '2026-11-20'],
    [SECOND, SECOND],
    [SECOND, '2026-11-22T11:59:59Z'],
    [SERVED, '2026-11-22'],
    [SERVED, '2030-01-01'],
    [ROLLED_BACK, ROLLED_BACK],
  ])('answers as snapshot %s did with as_of=%s', async (id, asOf) => {
    const recorded = Object.entries(answers[id] ?? {}).filter(([path]) => TAKES_AS_OF.test(path));
    expect(recorded.length).toBeGreaterThan(20);
    for (const [path, before] of recorded) expect(await answered(path, asOf), path).toEqual(before);
  });
});
