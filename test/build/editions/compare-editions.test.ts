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
afterEach(() => editions[Symbol.asyncDispose]());

const edition = (series: Record<string, Record<string, Figure>>): Edition =>
  new Map(Object.entries(series).map(([id, rows]) => [id, new Map(Object.entries(rows))]));

const kindsOf = async (at: number, id: string): Promise<Record<string, unknown>> =>
  Object.fromEntries((await editions.revisions(at, id)).map((one) => [`${one.iso3} ${one.year}`, one.kind]));

describe('the revisions of an edition', () => {
  it('are added, changed, withdrawn and restored figures; gaps and ranks are none', async () => {
    const bounded = figure(2, { ci_lo: 1, ci_hi: 3 });
    const first = {
      'DEU 2000': figure(1),
      'DEU 2001': bounded,
      'DEU 2002': bounded,
      'DEU 2003': figure(3),
      'DEU 2004': figure(4),
      'DEU 2005': figure(5),
      'DEU 2006': figure(6),
      'DEU 2007': figure(null),
      'DEU 2008': figure(null),
      'DEU 2009': figure(9, { rank: 2 }),
    };
    const second = {
      'DEU 2000': figure(1.5),
      'DEU 2001': figure(2, { ci_lo: 1, ci_hi: 3.5 }),
      'DEU 2002': bounded,
      'DEU 2003': figure(3, { status: 'provisional' }),
      'DEU 2004': figure(4, { projected: true }),
      'DEU 2006': figure(null, { status: 'missing' }),
      'DEU 2007': figure(7),
      'DEU 2009': figure(9, { rank: 1 }),
      'FRA 2000': figure(10),
      'FRA 2001': figure(null),
    };
    await editions.add(edition({ 'a.x': first, 'a.y': first }));
    const changes = await editions.add(edition({ 'a.x': second, 'a.y': first }));
    expect(await kindsOf(1, 'a.x')).toEqual({
      'DEU 2000': 'changed',
      'DEU 2001': 'changed',
      'DEU 2003': 'changed',
      'DEU 2004': 'changed',
      'DEU 2005': 'withdrawn',
      'DEU 2006': 'withdrawn',
      'DEU 2007': 'added',
      'FRA 2000': 'added',
    });
    expect(changes).toMatchObject({ added: [], withdrawn: [], renamed: [] });
    expect(Object.keys(changes?.revised ?? {})).toEqual(['a.x']);
    expect(changes?.revised['a.x']).toMatchObject({ added: 2, changed: 4, withdrawn: 2, restored: 0 });
    expect(await editions.columns(1, 'a.x')).toEqual(EDITION_REVISION_COLUMNS);
    expect((await editions.revisions(1, 'a.x'))[0]).toEqual({
      iso3: 'DEU',
      year: 2000,
      kind: 'changed',
      old_value: 1,
      new_value: 1.5,
      old_ci_lo: null,
      new_ci_lo: null,
      old_ci_hi: null,
      new_ci_hi: null,
      old_status: null,
      new_status: null,
      old_projected: false,
      new_projected: false,
    });
    const withdrawn = (await editions.revisions(1, 'a.x')).find(({ year }) => year === 2006);
    expect(withdrawn).toMatchObject({ old_value: 6, new_value: null, new_status: null, new_projected: null });
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

it('random sequences of editions replay: the first edition and all revisions give the last', async () => {
  await expectReplays(12);
});
