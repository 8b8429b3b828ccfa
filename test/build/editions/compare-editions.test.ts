/** What changed between two editions: kinds, counts, renames, and the replay of random sequences. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { countChanges } from '../../../build/editions/compare/compare-editions.ts';
import { EDITION_REVISION_COLUMNS } from '../../../data/schema/editions.ts';
import { expectReplays } from './edition-property.ts';
import { type Edition, EditionSequence, type Figure, figure } from './edition-sequence.ts';

let editions: EditionSequence;
beforeEach(async () => {
  editions = await EditionSequence.create();
});
afterEach(() => editions.close());

const edition = (series: Record<string, Record<string, Figure>>): Edition =>
  new Map(Object.entries(series).map(([id, rows]) => [id, new Map(Object.entries(rows))]));

const kindsOf = async (at: number, id: string): Promise<Record<string, unknown>> =>
  Object.fromEntries((await editions.revisions(at, id)).map((one) => [`${one.iso3} ${one.year}`, one.kind]));

describe('the revisions of an edition', () => {
  it('stand in the documented columns, with what was and what is', async () => {
    const first = { 'DEU 2000': figure(1), 'DEU 2001': figure(2), 'DEU 2002': figure(9, { rank: 2 }) };
    const second = {
      'DEU 2000': figure(1.5),
      'DEU 2001': figure(null, { status: 'missing' }),
      'DEU 2002': figure(9, { rank: 1 }),
    };
    await editions.add(edition({ 'a.x': first, 'a.y': first }));
    const changes = await editions.add(edition({ 'a.x': second, 'a.y': first }));
    expect(changes).toMatchObject({ added: [], withdrawn: [], renamed: [] });
    expect(Object.keys(changes?.revised ?? {})).toEqual(['a.x']);
    expect(changes?.revised['a.x']).toMatchObject({ added: 0, changed: 1, withdrawn: 1, restored: 0 });
    expect(await editions.columns(1, 'a.x')).toEqual(EDITION_REVISION_COLUMNS);
    const [changed, withdrawn] = await editions.revisions(1, 'a.x');
    expect(changed).toEqual({
      ...{ iso3: 'DEU', year: 2000, kind: 'changed', old_value: 1, new_value: 1.5 },
      ...{ old_ci_lo: null, new_ci_lo: null, old_ci_hi: null, new_ci_hi: null },
      ...{ old_status: null, new_status: null, old_projected: false, new_projected: false },
    });
    expect(withdrawn).toMatchObject({ old_value: 2, new_value: null, new_status: null, new_projected: null });
  });

  it('follow a series under its new id; a rename alone revises nothing', async () => {
    const rows = { 'DEU 2000': figure(1), 'DEU 2001': figure(2) };
    const renames = new Map([
      ['a.old', 'a.new'],
      ['a.gone', 'a.new'],
      ['b.old', 'b.new'],
      ['c.old', 'c.new'],
    ]);
    await editions.add(
      edition({ 'a.old': rows, 'a.gone': rows, 'b.old': rows, 'c.old': rows, 'c.new': rows }),
    );
    const changes = await editions.add(
      edition({ 'a.new': rows, 'b.new': { 'DEU 2000': figure(1) }, 'c.new': rows }),
      renames,
    );
    expect(changes).toMatchObject({
      added: [],
      // The new id had figures of its own already; of two old ids one can continue.
      withdrawn: ['a.gone', 'c.old'],
      renamed: [
        { from: 'a.old', to: 'a.new' },
        { from: 'b.old', to: 'b.new' },
      ],
    });
    expect(Object.keys(changes?.revised ?? {})).toEqual(['b.new']);
    expect(await kindsOf(1, 'b.new')).toEqual({ 'DEU 2001': 'withdrawn' });
    await editions.add(edition({ 'a.new': rows, 'b.new': rows, 'c.new': rows }), renames);
    expect(await kindsOf(2, 'b.new')).toEqual({ 'DEU 2001': 'restored' });
  });

  it('restore a figure once that went with its series and later by itself', async () => {
    const both = { 'DEU 2000': figure(1), 'DEU 2001': figure(2) };
    const one = { 'DEU 2000': figure(1) };
    for (const published of [{ 'a.x': both }, {}, { 'a.x': both }, { 'a.x': one }])
      await editions.add(edition(published));
    const changes = await editions.add(edition({ 'a.x': both }));
    expect(changes?.revised['a.x']).toMatchObject({ added: 0, changed: 0, withdrawn: 0, restored: 1 });
  });

  it('are counted by provider', async () => {
    const rows = { 'DEU 2000': figure(1) };
    const other = { 'DEU 2000': figure(2) };
    await editions.add(edition({ 'a.x': rows, 'a.y': rows, 'b.old': rows, 'c.z': rows }));
    const renames = new Map([['b.old', 'b.new']]);
    const changes = await editions.add(
      edition({ 'a.x': other, 'b.new': other, 'b.more': rows, 'c.z': rows }),
      renames,
    );
    expect(changes && countChanges({ ...changes, redefined: [] })).toEqual({
      a: { added: 0, withdrawn: 1, renamed: 0, revised: 1, redefined: 0 },
      b: { added: 1, withdrawn: 0, renamed: 1, revised: 1, redefined: 0 },
    });
  });

  it('come in batches that mix no series, also where two share one file', async () => {
    const before = { 'DEU 2000': figure(1) };
    const after = { 'DEU 2000': figure(2) };
    const ids = Array.from({ length: 7 }, (_, at) => `a.s${at}`);
    await editions.add(edition(Object.fromEntries(ids.map((id) => [id, before]))));
    const shared = editions.written[0]?.files.get('a.s0');
    // Objects are named by content: series with equal rows have one file.
    if (shared) for (const id of ids) editions.written[0]?.files.set(id, shared);
    const changes = await editions.add(edition(Object.fromEntries(ids.map((id) => [id, after]))));
    expect(Object.values(changes?.revised ?? {}).map((one) => one.changed)).toEqual(ids.map(() => 1));
    for (const id of ids) expect(await editions.revisions(1, id)).toHaveLength(1);
  });
});

describe('random sequences of editions', () => {
  it('replay: the first edition and all revisions give the last', async () => {
    await expectReplays(12);
  });
});
