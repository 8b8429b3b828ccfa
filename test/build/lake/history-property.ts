/** The property of the lake's history: it rebuilds every run, whatever runs there were. */
import fc from 'fast-check';
import { expect } from 'vitest';
import type { RunRecord } from '../../../data/schema/lake.ts';
import { SEED } from '../../environment.ts';
import { expectedKinds, ROW_FIELDS } from '../revision-model.ts';
import {
  figure,
  kindsOf,
  type LakeRow,
  PLACES,
  type Rows,
  replay,
  ScriptedProvider,
  SLUGS,
  sorted,
} from './scripted-provider.ts';

const keys = SLUGS.flatMap((slug) =>
  PLACES.flatMap((place) => [2000, 2001, 2002].map((year) => `${slug} ${place} ${year}`)),
);
const row = fc.record<LakeRow>({ ...ROW_FIELDS, projected: fc.constantFrom(null, true, false) });
type Step =
  | { kind: 'change'; cells: [string, LakeRow | null][] }
  | { kind: 'rename'; from: string; to: string }
  | { kind: 'nothing' }
  | { kind: 'accept' };
const slug = fc.constantFrom(...SLUGS);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('change' as const),
      cells: fc.array(fc.tuple(fc.constantFrom(...keys), fc.option(row, { freq: 2 })), { minLength: 1 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('rename' as const), from: slug, to: slug }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'nothing' as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'accept' as const }) },
);

/** The rows after a step; never none. */
function after(rows: Rows, one: Step): Rows {
  if (one.kind === 'rename') return renamed(rows, one.from, one.to);
  const next = new Map(rows);
  for (const [key, cell] of one.kind === 'change' ? one.cells : []) {
    if (cell) next.set(key, cell);
    else next.delete(key);
  }
  return next.size > 0 ? next : new Map([['one DEU 2000', figure(1)]]);
}

const renamed = (rows: Rows, from: string, to: string): Rows =>
  new Map([
    ...[...rows].filter(([key]) => !key.startsWith(`${from} `)),
    ...[...rows].flatMap(([key, one]): [string, LakeRow][] =>
      key.startsWith(`${from} `) ? [[key.replace(from, to), one]] : [],
    ),
  ]);

interface PublishedRun {
  id: string;
  rows: Rows;
  record: RunRecord;
}

/** Carries out the steps. Returns the good runs with the rows that were published. */
async function carryOut(mine: ScriptedProvider, steps: readonly Step[]): Promise<PublishedRun[]> {
  const good: PublishedRun[] = [];
  const held: PublishedRun[] = [];
  const note = (record: RunRecord, rows: Rows): void => {
    const { run_id: id, status } = record;
    if (status === 'succeeded') good.push({ id, rows, record });
    else if (status === 'suspicious') held.push({ id, rows, record });
    else expect(status).toBe('unchanged');
  };
  let rows: Rows = new Map(keys.slice(0, 9).map((key, index) => [key, figure(index)]));
  note(await mine.night(rows), rows);
  for (const one of steps) {
    if (one.kind === 'accept') {
      const kept = await mine.lake.runIds();
      const waiting = held.findLast(({ id }) => kept.includes(id));
      if (waiting) note(await mine.accept(waiting.id), waiting.rows);
      continue;
    }
    rows = after(rows, one);
    note(await mine.night(rows), rows);
  }
  return good;
}

/** Compares the history of a provider with what was published. */
async function expectHistory(steps: readonly Step[]): Promise<void> {
  const mine = await ScriptedProvider.create();
  await using _world = mine.world;
  const good = await carryOut(mine, steps);
  const replayed = await replay(mine.lake);
  expect([...replayed.keys()]).toEqual(good.map(({ id }) => id));
  for (const { id, rows } of good) expect(sorted(replayed.get(id))).toEqual(sorted(rows));
  for (const [index, { id, rows, record }] of good.entries()) {
    if (index === 0) continue;
    const earlier = good.slice(0, index).map((one) => one.rows);
    const kinds = await kindsOf(mine, id);
    expect(kinds).toEqual(expectedKinds(earlier, rows));
    const { added, changed, removed, restored } = record.revisions ?? {};
    const counted = ['added', 'changed', 'withdrawn', 'restored'].map(
      (kind) => Object.values(kinds).filter((one) => one === kind).length,
    );
    expect([added, changed, removed, restored]).toEqual(counted);
  }
}

/** Checks the histories of so many random sequences of runs. */
export async function expectHistories(sequences: number): Promise<void> {
  const steps = fc.array(step, { minLength: 6, maxLength: 12 });
  const options = { seed: SEED ?? 15, numRuns: sequences, endOnFailure: true };
  await fc.assert(fc.asyncProperty(steps, expectHistory), options);
}
