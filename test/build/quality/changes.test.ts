/** What changed against the night before: what the check finds, and the revisions that it lets pass. */
import { describe, expect, it } from 'vitest';
import { sinceYesterday } from '../../../build/quality/checks/changes.ts';
import {
  allChanged,
  COUNTRIES,
  type ConstructedSeries,
  changed,
  type Figure,
  findIn as findInSeries,
  plausible,
  times,
} from './checked-figures.ts';

const tonnes = { name: 'Wheat', unit: 'tonnes' };
const findIn = (check: typeof sinceYesterday, one: ConstructedSeries, more = {}) =>
  findInSeries(check, { 'a.one': one }, more);

describe('since yesterday', () => {
  const figures = plausible(1, 500);
  const before = { 'a.one': { ...tonnes, figures } };

  it('finds lost countries until they are back', async () => {
    const without = { ...tonnes, figures: figures.filter(([c]) => c !== 'FRA' && c !== 'ITA') };
    const found = await findIn(sinceYesterday, without, { before });
    expect(found).toMatchObject([{ kind: 'series_places_lost', countries: ['FRA', 'ITA'], extent: 2 }]);
    expect(found[0]?.message).toBe('2 countries have no value any more: France, Italy.');
    const still = await findIn(sinceYesterday, without, { before: { 'a.one': without }, known: found });
    expect(still).toMatchObject(found);
    const one = { ...tonnes, figures: figures.filter(([c]) => c !== 'ITA') };
    const half = await findIn(sinceYesterday, one, { before: { 'a.one': without }, known: found });
    expect(half).toMatchObject([{ countries: ['ITA'] }]);
    expect(await findIn(sinceYesterday, before['a.one'], { before: { 'a.one': one }, known: half })).toEqual(
      [],
    );
  });

  it('finds a newest year that went back', async () => {
    const shorter = { ...tonnes, figures: figures.filter(([, y]) => y <= 2022) };
    const found = await findIn(sinceYesterday, shorter, { before });
    expect(found).toMatchObject([{ kind: 'newest_year_back', years: [2022, 2025], extent: 3 }]);
  });

  it('finds projected years that count as observed, until they are projected again', async () => {
    const flagged = { ...tonnes, figures, projectedFrom: 2020 };
    const found = await findIn(sinceYesterday, before['a.one'], { before: { 'a.one': flagged } });
    expect(found).toMatchObject([{ kind: 'projections_unflagged', years: [2020, 2025], extent: 240 }]);
    const still = await findIn(sinceYesterday, before['a.one'], { before, known: found });
    expect(still).toMatchObject(found);
    expect(await findIn(sinceYesterday, flagged, { before, known: found })).toEqual([]);
    const later = {
      ...tonnes,
      figures: changed(figures, (_, y) => y > 2015, times(1.01)),
      projectedFrom: 2021,
    };
    expect(await findIn(sinceYesterday, later, { before: { 'a.one': flagged } })).toEqual([]);
  });

  it('finds two countries that exchanged their figures', async () => {
    const apart = changed(figures, (c) => c === 'PER', times(20));
    const other = new Map([
      ['PER', 'POL'],
      ['POL', 'PER'],
    ]);
    const exchanged = apart.map(([c, y, v]): Figure => [other.get(c) ?? c, y, v]);
    const was = { before: { 'a.one': { ...tonnes, figures: apart } } };
    const found = await findIn(sinceYesterday, { ...tonnes, figures: exchanged }, was);
    expect(found).toMatchObject([{ kind: 'history_rewritten', countries: ['PER', 'POL'] }]);
  });

  it('finds a rewritten past, of all or of one country, and lets revisions pass', async () => {
    const revised = changed(figures, (_, y) => y > 2020, times(1.04));
    expect(await findIn(sinceYesterday, { ...tonnes, figures: revised }, { before })).toEqual([]);
    const rewritten = allChanged(figures, times(100));
    const all = await findIn(sinceYesterday, { ...tonnes, figures: rewritten }, { before });
    expect(all).toMatchObject([{ kind: 'history_rewritten', extent: figures.length }]);
    expect(all[0]?.message).toMatch(/typically by a factor of 100: /);
    const one = changed(figures, (c) => c === 'PER', times(10));
    const single = await findIn(sinceYesterday, { ...tonnes, figures: one }, { before });
    expect(single).toMatchObject([{ kind: 'history_rewritten', countries: ['PER'], extent: 41 }]);
  });

  it('finds a past that changed by little, but as no revision does', async () => {
    const since = (now: readonly Figure[]) => findIn(sinceYesterday, { ...tonnes, figures: now }, { before });
    const values = new Map(figures.map(([iso3, year, value]) => [`${iso3} ${year}`, value]));
    const earlier = (iso3: string, year: number) => values.get(`${iso3} ${year}`) ?? null;
    const moved = figures.map(([iso3, year, value]): Figure => [iso3, year + 1, value]);
    expect((await since(moved)).find(({ kind }) => kind === 'history_rewritten')?.message).toMatch(
      /are now those of the year before/,
    );
    const slip = changed(figures, (iso3, year) => iso3 === 'PER' && year === 2003, times(10));
    expect(await since(slip)).toMatchObject([{ kind: 'history_rewritten', years: [2003, 2003], extent: 1 }]);
    const year = changed(figures, (_, at) => at === 2024, times(0.7));
    expect(await since(year)).toMatchObject([{ kind: 'history_rewritten', extent: COUNTRIES.length }]);
    const stale = figures.map(
      ([iso3, at, value]): Figure => [iso3, at, at === 2024 ? earlier(iso3, 2023) : value],
    );
    expect(await since(stale)).toMatchObject([{ kind: 'history_rewritten', extent: COUNTRIES.length }]);
  });

  it('finds values that are gone of countries that still have others', async () => {
    const kept = (isKept: (iso3: string, year: number) => boolean) =>
      findIn(
        sinceYesterday,
        { ...tonnes, figures: figures.filter(([iso3, year]) => isKept(iso3, year)) },
        { before },
      );
    expect(await kept((iso3, year) => iso3 > 'CAN' || year < 2000 || year > 2008)).toMatchObject([
      { kind: 'values_lost', extent: 90, message: expect.stringMatching(/^90 values are gone, of 10 /) },
    ]);
    expect(await kept((iso3, year) => iso3 !== 'PER' || year < 2000)).toMatchObject([
      { kind: 'values_lost', countries: ['PER'], extent: 26 },
    ]);
    expect(await kept((iso3, year) => iso3 !== 'PER' || year < 2023)).toEqual([]);
  });
});
