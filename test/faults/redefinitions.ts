/** Units that change in place and while a series is away: each is held for an operator, and told once it is accepted. */
import { acceptRun } from '../../build/ingest/accept-run.ts';
import { editionChanges } from '../../data/schema/snapshot.ts';
import { type Series, World } from '../build/world.ts';
import type { Reporter } from './table.ts';

const SERIES = 40;
const idOf = (at: number): string => `s${at}`;
const herd = (unit: string, at: number): Series => ({ name: 'Herd', unit, cells: [['FRA', 2000, 1 + at]] });

export async function redefinitionFaults(report: Reporter): Promise<void> {
  const world = await World.create({ atlas: { gates: { max_row_drop: 1, max_country_drop: 1 } } });
  let held = 0;
  const told = new Set<string>();
  async function night(unitOf: (at: number) => string | null): Promise<void> {
    const units = Array.from({ length: SERIES }, (_, at) => [at, unitOf(at)] as const);
    const series = units.flatMap(([at, unit]) =>
      unit === null ? [] : [[idOf(at), herd(unit, at)] as const],
    );
    await world.publish('atlas', Object.fromEntries(series));
    const { status, run_id } = await world.ingest('atlas');
    if (status === 'suspicious') {
      held += 1;
      await acceptRun(await world.dependencies(), 'atlas', run_id);
    }
    await world.build();
    world.tomorrow();
    const changes = (await world.snapshots.log()).editions.at(-1)?.changes;
    if (!changes) return;
    const { redefined } = editionChanges.parse(JSON.parse(await world.snapshots.readText(changes)));
    for (const { indicator, unit } of redefined) if (unit) told.add(indicator);
  }
  try {
    await night(() => 'people');
    await night((at) => (at % 2 === 0 ? 'thousands' : at === 1 ? 'people' : null));
    await night((at) => (at % 2 === 0 ? 'thousands' : at === 1 ? 'people' : 'thousands'));
    report(
      'A run with another unit is held, also of series that vanished and came back',
      `${held} of 2 runs`,
      held === 2,
    );
    const changed = SERIES - 1;
    report(
      'Each changed unit is listed in the changes of its edition',
      `${told.size} of ${changed}`,
      told.size === changed,
    );
  } finally {
    await world.remove();
  }
}
