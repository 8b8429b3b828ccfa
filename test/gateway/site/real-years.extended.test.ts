/** Map and ranking of any year of all real indicators, and the classes of their maps. */
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import { columnsOf, rowsOf, sectionOf } from './page-text.ts';
import { chartsIn, mapIn } from './read-charts.ts';
import { describeReal, type TrueRank } from './real-edition.ts';
import { expectRow } from './real-rows.ts';

describeReal('map and ranking of any year', (real) => {
  test('are of that year, with the field of ranks, and changes over the same countries only', async () => {
    const counts = { figures: 0, incomparable: 0 };
    for (const record of real.records) {
      for (const year of await yearsOf(record)) {
        const html = await real.page(`/indicators/${record.id}?year=${year}`);
        const headings = [...html.matchAll(/<h2 id="(?:map|ranking)">\w+, (-?\d+)</g)].map(([, of]) => of);
        expect([record.id, headings]).toEqual([record.id, [String(year), String(year)]]);
        const section = sectionOf(html, 'ranking');
        const { access_tier, no_rank } = record;
        const isShown = access_tier === 'open' || year === (await real.opening(record))?.year;
        if (isShown && !no_rank) await expectRanking(section, { record, year, counts });
        else expect([record.id, year, section.includes('Rank')]).toEqual([record.id, year, false]);
      }
    }
    expect(counts.figures).toBeGreaterThan(100_000);
    expect(counts.incomparable).toBeGreaterThan(100);
  });

  test('have one small file of the classes of all years, which has no figure', async () => {
    for (const { id, access_tier } of real.records) {
      const { status, text } = await real.service.get(`/indicators/${id}/classes.json`);
      expect([id, status]).toEqual([id, access_tier === 'open' ? 200 : 404]);
      if (status === 404) continue;
      expect([id, gzipSync(text).length <= 15_000]).toEqual([id, true]);
      const { edition, years, classes, ...others } = JSON.parse(text);
      expect([id, others, typeof edition]).toEqual([id, {}, 'string']);
      const isRow = (row: string): boolean => /^[0-5-]*$/.test(row) && row.length === years.length;
      expect([id, (Object.values(classes) as string[]).filter((row) => !isRow(row))]).toEqual([id, []]);
      // A map of the first year, and of each that is forty years of figures later.
      for (let at = 0; at < years.length; at += 40) {
        const svg = chartsIn(await real.page(`/indicators/${id}?year=${years[at]}`), 'map')[0] ?? '';
        const order = [...svg.matchAll(/<g class="([sd]\d)"/g)].map(([, className]) => className);
        const drawn = [...mapIn(svg)].map(([iso3, { className }]) => [
          iso3,
          className === 'none' ? '-' : String(order.indexOf(className)),
        ]);
        const told = drawn.map(([iso3 = '']) => [iso3, classes[iso3][at]]);
        expect([id, years[at], told]).toEqual([id, years[at], drawn]);
      }
    }
  });

  /** The opening year, the one before, and one in the middle. */
  async function yearsOf(record: IndicatorRecord): Promise<number[]> {
    const first = record.coverage?.yr_min;
    const opened = (await real.opening(record))?.year;
    if (typeof first !== 'number' || opened === undefined) return [];
    const years = new Set([opened, opened - 1, Math.floor((first + opened) / 2)]);
    // The ranking of the API takes years of four digits.
    return [...years].filter((year) => year >= Math.max(first, 1_000));
  }

  async function expectRanking(
    section: string,
    of: { record: IndicatorRecord; year: number; counts: { figures: number; incomparable: number } },
  ): Promise<void> {
    const { record, year, counts } = of;
    const [now, before] = await Promise.all([year, year - 1].map((one) => rankingOf(record, one)));
    const held = (now ?? []).filter(({ value }) => value !== null);
    const [ranked, earlier] = [now, before].map(
      (rows = []) => new Set(rows.filter(({ rank }) => rank !== null).map(({ iso3 }) => iso3)),
    );
    const [size, sizeBefore] = [ranked?.size ?? 0, earlier?.size ?? 0];
    const both = [...(ranked ?? [])].filter((iso3) => earlier?.has(iso3)).length;
    const isComparable = both >= 0.9 * Math.max(size, sizeBefore);
    const columns = columnsOf(section);
    const rows = rowsOf(section);
    expect([record.id, year, rows.length]).toEqual([record.id, year, held.length]);
    if (held.length === 0) return;
    const heads = [columns[0], columns.includes('Change of rank')];
    expect([record.id, year, ...heads]).toEqual([record.id, year, `Rank of ${size}`, isComparable]);
    const statuses = await real.statuses(record, year);
    for (const [at, row] of held.entries()) {
      const figure = { ...row, year };
      expectRow(record, columns, { cells: rows[at] ?? [], figure, status: statuses.get(row.iso3) });
    }
    counts.figures += held.length;
    if (!isComparable) counts.incomparable += 1;
  }

  const rankingOf = async ({ id }: IndicatorRecord, year: number): Promise<TrueRank[]> =>
    (await real.json(`/v1/rankings/${id}?year=${year}`)).data;
});
