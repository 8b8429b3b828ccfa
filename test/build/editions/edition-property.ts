/** The property of revisions: replayed onto the first edition, they give every later one. */
import fc from 'fast-check';
import { expect } from 'vitest';
import type { EditionChanges } from '../../../data/schema/snapshot.ts';
import { SEED } from '../../environment.ts';
import { expectedKinds, ROW_FIELDS } from '../revision-model.ts';
import {
  type Edition,
  EditionSequence,
  type Figure,
  figuresOf,
  type Renames,
  replaySeries,
  type Series,
} from './edition-sequence.ts';

const IDS = ['a.one', 'a.two', 'b.three'];
/** Every id may become this one, once. */
const NEW_IDS: Renames = new Map(IDS.map((id) => [id, `${id}-new`]));
const KEYS = ['DEU', 'FRA'].flatMap((iso3) => [2000, 2001, 2002].map((year) => `${iso3} ${year}`));

const figures = fc.record<Figure>({
  ...ROW_FIELDS,
  projected: fc.boolean(),
  rank: fc.constantFrom(null, 1, 2),
});
type Step =
  | { kind: 'change'; id: string; cells: [string, Figure | null][] }
  | { kind: 'withdraw' | 'rename'; id: string };
const id = fc.constantFrom(...IDS);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('change' as const),
      id,
      cells: fc.array(fc.tuple(fc.constantFrom(...KEYS), fc.option(figures, { freq: 2 })), { minLength: 1 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('withdraw' as const, 'rename' as const), id }) },
);

/** The id of a series by now. */
const nameOf = (edition: Edition, old: string, renamed: Renames): string =>
  edition.has(old) ? old : (renamed.get(old) ?? old);

function after(before: Edition, one: Step, renamed: Renames): Edition {
  const next = new Map(before);
  const name = nameOf(before, one.id, renamed);
  if (one.kind === 'withdraw') {
    next.delete(name);
    return next;
  }
  const series = next.get(name);
  if (one.kind === 'rename') {
    const to = NEW_IDS.get(one.id);
    if (!series || !to || renamed.has(one.id)) return next;
    renamed.set(one.id, to);
    next.delete(name);
    return next.set(to, series);
  }
  const changed: Series = new Map(series ?? []);
  for (const [key, cell] of one.kind === 'change' ? one.cells : []) {
    if (cell) changed.set(key, cell);
    else changed.delete(key);
  }
  return next.set(name, changed);
}

/** Replays one edition onto the figures of the one before, by what the changes list alone. */
async function replayEdition(
  editions: EditionSequence,
  at: number,
  before: Edition,
  changes: Omit<EditionChanges, 'redefined'>,
  published: Edition,
): Promise<Edition> {
  const next = new Map(before);
  for (const one of changes.withdrawn) next.delete(one);
  for (const { from, to } of changes.renamed) {
    next.set(to, next.get(from) ?? new Map());
    next.delete(from);
  }
  // The rows of a series that begins are its observations of that edition.
  for (const one of changes.added) next.set(one, published.get(one) ?? new Map());
  for (const one of Object.keys(changes.revised)) {
    next.set(one, replaySeries(next.get(one) ?? new Map(), await editions.revisions(at, one)));
  }
  return next;
}

const figuresOfAll = (edition: Edition) => new Map([...edition].map(([one, rows]) => [one, figuresOf(rows)]));

async function expectReplay(steps: readonly (readonly Step[])[]): Promise<void> {
  await using editions = await EditionSequence.create();
  const renamed: Renames = new Map();
  const history: Edition[] = [new Map(IDS.map((one) => [one, new Map()]))];
  await editions.add(history[0] ?? new Map());
  let replayed: Edition = new Map(history[0]);
  for (const night of steps) {
    const before = history.at(-1) ?? new Map();
    const now = night.reduce((edition, one) => after(edition, one, renamed), before);
    const changes = await editions.add(now, new Map(renamed));
    if (changes === null) throw new Error('an edition without changes');
    const at = history.length;
    replayed = await replayEdition(editions, at, replayed, changes, now);
    expect(figuresOfAll(replayed)).toEqual(figuresOfAll(now));
    await expectKinds(editions, at, history, now, renamed, changes);
    history.push(now);
  }
}

/** Compares the kinds of all revised series with what all earlier editions make of them. */
async function expectKinds(
  editions: EditionSequence,
  at: number,
  history: readonly Edition[],
  now: Edition,
  renamed: Renames,
  changes: Omit<EditionChanges, 'redefined'>,
): Promise<void> {
  for (const one of Object.keys(changes.revised)) {
    const old = [...renamed].find(([, to]) => to === one)?.[0] ?? one;
    const earlier = history.map((edition) => edition.get(one) ?? edition.get(old));
    const rows = await editions.revisions(at, one);
    const kinds = Object.fromEntries(rows.map(({ iso3, year, kind }) => [`${iso3} ${year}`, kind]));
    expect(kinds).toEqual(expectedKinds(earlier.map(figuresOf), figuresOf(now.get(one))));
    expect(rows.map(({ iso3, year }) => `${iso3} ${year}`)).toEqual(Object.keys(kinds).sort());
    const { file: _, ...counts } = changes.revised[one] ?? { file: null };
    const counted = Object.groupBy(rows, ({ kind }) => kind);
    for (const [kind, count] of Object.entries(counts)) expect(count).toBe(counted[kind]?.length ?? 0);
  }
}

/** Replays so many random sequences of editions. */
export async function expectReplays(sequences: number): Promise<void> {
  const nights = fc.array(fc.array(step, { maxLength: 3 }), { minLength: 3, maxLength: 8 });
  const options = { seed: SEED ?? 17, numRuns: sequences, endOnFailure: true };
  await fc.assert(fc.asyncProperty(nights, expectReplay), options);
}
