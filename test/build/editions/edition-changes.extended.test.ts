import { beforeEach, describe, expect, it } from 'vitest';
import { scrub } from '../../../build/editions/retention.ts';
import type { NightlyDependencies } from '../../../build/nightly.ts';
import { type EditionChanges, editionChanges, type LogEntry } from '../../../data/schema/snapshot.ts';
import { query } from '../parquet-readers.ts';
import { type Cell, type Series, World } from '../world.ts';

let world: World;
beforeEach(async () => {
  world = await World.ofTest({ atlas: { gates: { max_row_drop: 1, max_country_drop: 1 } }, globe: {} });
  await world.ingestSeries({ steady: herd(9) }, 'globe');
});

/** Like enough to others that no run is held. */
const herd = (...values: number[]): Series => ({
  cells: [...values.map((value, at): Cell => ['FRA', 2000 + at, 50 + value]), ['FRA', 2010, 60]],
});

/** Publishes a night, and returns what the log says of it. */
async function night(
  series: Record<string, Series>,
  more: Partial<NightlyDependencies> = {},
): Promise<LogEntry> {
  await world.ingestSeries(series);
  const { snapshot } = await world.build(more);
  world.tomorrow();
  const { editions } = await world.snapshots.log();
  const entry = editions.find(({ edition }) => edition === snapshot);
  if (!entry) throw new Error('the log lacks the edition');
  return entry;
}

async function changesOf({ changes }: LogEntry): Promise<EditionChanges> {
  if (!changes) throw new Error('an edition without changes');
  return editionChanges.parse(JSON.parse(await world.snapshots.readText(changes)));
}

async function kindsOf(entry: LogEntry, indicator: string): Promise<Record<string, unknown>> {
  const file = (await changesOf(entry)).revised[indicator]?.file;
  if (!file) return {};
  const rows = await query(`SELECT * FROM read_parquet('${world.snapshots.pathOf(file)}')`);
  return Object.fromEntries(rows.map(({ year, kind }) => [String(year), kind]));
}

describe('the log', () => {
  it('is found damaged when it says something else than the manifests', async () => {
    const first = await night({ cows: herd(1, 2) });
    const second = await night({ cows: herd(1, 3) });
    const log = await world.snapshots.log();
    expect((await scrub(world.snapshots, { keep: 3 })).damaged).toEqual([]);
    const editions = [first, { ...second, changed: {} }];
    await world.snapshots.writeLog({ ...log, editions });
    expect((await scrub(world.snapshots, { keep: 3 })).damaged).toEqual([
      `log.json is damaged: it says of ${second.edition} what its manifest does not`,
    ]);
  });

  it('follows a series that data/aliases.csv renames', async () => {
    await night({ cows: herd(1, 2), goats: herd(5) });
    await world.list('aliases', 'atlas.cows,atlas.cattle,2026-11-21,', 'atlas.goats,atlas.kids,2026-11-21,');
    await world.define('atlas', {
      gates: { max_row_drop: 1, max_country_drop: 1 },
      indicators: { kids: { enabled: false } },
    });
    const second = await night({ cattle: herd(1, 3), kids: herd(5) });
    expect(await changesOf(second)).toMatchObject({
      added: [],
      withdrawn: ['atlas.goats'],
      renamed: [{ from: 'atlas.cows', to: 'atlas.cattle' }],
    });
    expect(await kindsOf(second, 'atlas.cattle')).toEqual({ 2001: 'changed' });
    const { kept } = await world.snapshots.open(second.edition);
    const aliases = kept['aliases.json'];
    // An alias to a series that is not published would tell its id.
    expect(aliases && JSON.parse(await world.snapshots.readText(aliases))).toEqual([
      { old: 'atlas.cows', new: 'atlas.cattle', since: '2026-11-21', until: null },
    ]);
    const terms = kept['terms/atlas.json'];
    const vanished = terms ? JSON.parse(await world.snapshots.readText(terms)) : [];
    expect(vanished.map(({ id }: { id: string }) => id)).toEqual(['atlas.cows']);
  });
});

describe('the terms of an indicator that upstream no longer has', () => {
  const remembered = async ({ edition }: LogEntry): Promise<string[]> => {
    const terms = (await world.snapshots.open(edition)).kept['terms/atlas.json'];
    const list = terms ? JSON.parse(await world.snapshots.readText(terms)) : [];
    return list.map(({ id }: { id: string }) => id);
  };
  const disabled = { overrides: new Map([['atlas.goats', { enabled: false }]]) };

  it.each([
    ['vanished before it was disabled', [{}, disabled]],
    ['vanished while it was disabled', [disabled, disabled]],
  ])('are there again when it is enabled again: it %s', async (_, [then = {}, later = {}]) => {
    await night({ cows: herd(1), goats: herd(2) });
    await night({ cows: herd(3), goats: herd(2) }, then);
    const away = await night({ cows: herd(4) }, then);
    expect(await remembered(away)).toEqual(then === disabled ? [] : ['atlas.goats']);
    expect(await remembered(await night({ cows: herd(5) }, later))).toEqual([]);
    expect(await remembered(await night({ cows: herd(6) }))).toEqual(['atlas.goats']);
  });

  it.each([{ enabled: false }, { redistributable: false }])(
    'are gone with its former ids while its definition says %j',
    async (away) => {
      const gates = { max_row_drop: 1, max_country_drop: 1 };
      await world.list('aliases', 'atlas.goats,atlas.kids,2026-11-21,');
      await night({ cows: herd(1), goats: herd(2) });
      await night({ cows: herd(1), kids: herd(3) });
      await world.define('atlas', { gates, indicators: { kids: away } });
      await night({ cows: herd(4), kids: herd(3) });
      const last = await night({ cows: herd(5) });
      expect(await remembered(last)).toEqual([]);
      const aliases = (await world.snapshots.open(last.edition)).kept['aliases.json'];
      expect(aliases && JSON.parse(await world.snapshots.readText(aliases))).toEqual([]);
      await world.define('atlas', { gates });
      expect(await remembered(await night({ cows: herd(6) }))).toEqual(['atlas.goats', 'atlas.kids']);
    },
  );
});
