/** Pages of every country, and comparisons of real indicators: every figure and every mark is that of the API. */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import type { IndicatorRecord, TopicItem } from '../../../data/schema/records.ts';
import type { SeriesOpening } from '../../../data/schema/snapshot.ts';
import { rowsOf, sectionOf, textOf, valuesOf } from './page-text.ts';
import { chartsIn, isAt, lineIn, namedDot, otherDots, scaleBelow, shows, valueScale } from './read-charts.ts';
import { describeReal, type TrueFigure } from './real-edition.ts';

const PER_TOPIC = 5;
const PAIRS = 20;
const COMPARED = 5;
/** Years that pictures of histories show. */
const SPARK_YEARS = 40;

/** The concept of each series that has one, from the curated table. */
const concepts = new Map(
  readFileSync('data/concept-series.csv', 'utf8')
    .split('\n')
    .map((line) => line.split(','))
    .map(([concept = '', id = '']) => [id, concept] as const),
);

interface ShownItem {
  indicator: string;
  value: number;
  year: number;
  rank: number | null;
  field: number | null;
  delta: number | null;
  /** The figure as it is shown. */
  text: string;
  sparkline: string | null;
}

/** `26 of 216 ▼ down by 2` */
function rankIn(text: string): Pick<ShownItem, 'rank' | 'field' | 'delta'> {
  const [, rank, field, direction, by] = /(\d+) of (\d+)(?: . (up|down) by (\d+))?/.exec(text) ?? [];
  return {
    rank: rank === undefined ? null : Number(rank),
    field: field === undefined ? null : Number(field),
    delta: by === undefined ? null : Number(by) * (direction === 'up' ? 1 : -1),
  };
}

/** The rows of tables of a country's figures. Series of one concept are folded below the first. */
const itemsIn = (html: string): ShownItem[] =>
  [...html.matchAll(/<tr>\s*<th scope="row"><a href="\/indicators\/([^"?]+)\?.*?<\/tr>/gs)].map(
    ([row, indicator = '']) => {
      const cell = (className: string): string =>
        new RegExp(`<td class="${className}">(.*?)</td>`, 's').exec(row)?.[1] ?? '';
      return {
        indicator,
        value: Number(/<data value="([^"]+)">/.exec(cell('figure'))?.[1] ?? Number.NaN),
        year: Number(cell('year')),
        ...rankIn(textOf(cell('figure rank'))),
        text: textOf(cell('figure')),
        sparkline: /<svg class="sparkline".*?<\/svg>/s.exec(cell('spark'))?.[0] ?? null,
      };
    },
  );

/** Folded ones: `<a href="/indicators/…">name</a>: value (year, rank 3 of 49)`. */
const foldedIn = (html: string): Omit<ShownItem, 'text' | 'sparkline'>[] =>
  [...html.matchAll(/<li><a href="\/indicators\/([^"?]+)\?[^"]*">.*?<\/li>/gs)].map(
    ([row, indicator = '']) => ({
      indicator,
      value: Number(/<data value="([^"]+)">/.exec(row)?.[1] ?? Number.NaN),
      year: Number(/ \((\d+)/.exec(textOf(row.slice(row.indexOf('<data'))))?.[1]),
      ...rankIn(textOf(row.slice(row.indexOf('<data')))),
    }),
  );

/** A rank of the year that pages open on stands with its field, its change where the years have the same countries. */
function asShown(
  { indicator, value, year, rank, rank_delta_1y }: TopicItem,
  opening: SeriesOpening | undefined,
) {
  const isRanked = rank !== null && opening?.year === year;
  return {
    indicator,
    value,
    year,
    rank: isRanked ? rank : null,
    field: isRanked ? opening.ranked : null,
    // No change is not said.
    delta: isRanked && opening.is_comparable ? rank_delta_1y || null : null,
  };
}

describeReal('pages of all countries', (real) => {
  const profiles = new Map<string, Record<string, TopicItem[]>>();
  beforeAll(async () => {
    for (const { iso3 } of real.countries)
      profiles.set(iso3, (await real.json(`/v1/countries/${iso3}`)).data.topics);
    expect(profiles.size).toBeGreaterThan(240);
    for (const record of real.records) {
      openings.set(record.id, await real.opening(record));
      if (record.preferred) preferred.add(record.id);
    }
  });
  const openings = new Map<string, SeriesOpening | undefined>();
  const preferred = new Set<string>();

  function expectItems(where: string, shown: readonly ShownItem[], held: readonly TopicItem[]): void {
    const known = new Map(held.map((item) => [item.indicator, asShown(item, openings.get(item.indicator))]));
    for (const { text, sparkline, ...item } of shown) {
      expect([where, item]).toEqual([where, known.get(item.indicator)]);
      expect([where, item.indicator, text, shows(text, item.value)]).toEqual([
        where,
        item.indicator,
        text,
        true,
      ]);
    }
  }

  /** The series that stand on their own, each with those of its concept that are folded below it. */
  function subjectsOf(items: readonly TopicItem[]): { lead: string; isFeatured: boolean; twins: string[] }[] {
    const bySubject = Map.groupBy(items, ({ indicator }) => concepts.get(indicator) ?? indicator);
    return [...bySubject.values()].map((own) => {
      const lead = own.find(({ indicator }) => preferred.has(indicator)) ?? (own[0] as TopicItem);
      const twins = own.filter((one) => one !== lead).map(({ indicator }) => indicator);
      return { lead: lead.indicator, isFeatured: lead.featured, twins };
    });
  }

  test('show up to five subjects of each topic, featured ones first, other series of them folded', async () => {
    let compared = 0;
    for (const [iso3, topics] of profiles) {
      const html = await real.page(`/countries/${iso3}`);
      for (const [slug, items] of Object.entries(topics)) {
        const section = sectionOf(html, `${slug}-title`);
        const shown = itemsIn(section);
        expectItems(iso3, shown, items);
        const subjects = subjectsOf(items);
        const expected = subjects
          .toSorted((a, b) => Number(b.isFeatured) - Number(a.isFeatured))
          .slice(0, PER_TOPIC);
        expect([iso3, slug, shown.map(({ indicator }) => indicator)]).toEqual([
          ...[iso3, slug],
          expected.map(({ lead }) => lead),
        ]);
        expectFolded(iso3, section, { items, ids: expected.flatMap(({ twins }) => twins) });
        compared += shown.length;
      }
    }
    expect(compared).toBeGreaterThan(9_000);
  });

  test('show all figures of a topic, series of one concept together', async () => {
    let compared = 0;
    for (const [iso3, topics] of profiles)
      for (const [slug, items] of Object.entries(topics)) {
        const html = await real.page(`/countries/${iso3}/${slug}`);
        const shown = itemsIn(html);
        const subjects = subjectsOf(items);
        expect(shown.map(({ indicator }) => indicator)).toEqual(subjects.map(({ lead }) => lead));
        expectItems(iso3, shown, items);
        expectFolded(iso3, html, { items, ids: subjects.flatMap(({ twins }) => twins) });
        compared += items.length;
      }
    expect(compared).toBeGreaterThan(50_000);
  });

  function expectFolded(
    where: string,
    html: string,
    { items, ids }: { items: readonly TopicItem[]; ids: readonly string[] },
  ): void {
    const known = new Map(items.map((item) => [item.indicator, asShown(item, openings.get(item.indicator))]));
    expect([where, foldedIn(html)]).toEqual([where, ids.map((id) => known.get(id))]);
  }

  test('draw the history of each featured series from its least to its greatest value', async () => {
    const since = Number(real.built.snapshot.match(/\/(\d{4})[^/]*$/)?.[1]) - SPARK_YEARS;
    const histories = new Map<string, Map<string, TrueFigure[]>>();
    for (const record of real.records.filter(({ featured }) => featured)) {
      const rows = (await real.history(record, { from: since })).filter(({ projected }) => !projected);
      histories.set(
        record.id,
        Map.groupBy(rows, ({ iso3 }) => iso3),
      );
    }
    let drawn = 0;
    for (const iso3 of profiles.keys())
      for (const { indicator, sparkline } of itemsIn(await real.page(`/countries/${iso3}`))) {
        const points = histories.get(indicator)?.get(iso3) ?? [];
        expect([iso3, indicator, sparkline !== null]).toEqual([iso3, indicator, points.length > 1]);
        if (sparkline === null) continue;
        expect([iso3, indicator, misdrawn(sparkline, points)]).toEqual([iso3, indicator, []]);
        drawn += 1;
      }
    expect(drawn).toBeGreaterThan(5_000);
  });

  describe('a comparison', () => {
    let pairs: [IndicatorRecord, IndicatorRecord][];
    let codes: string[];
    beforeAll(() => {
      const dated = real.records.filter(({ coverage }) => typeof coverage?.latest_year === 'number');
      const chosen = real.sample(dated, 2 * PAIRS, ({ id }) => `compared ${id}`);
      pairs = chosen.slice(0, PAIRS).map((record, at) => [record, chosen[PAIRS + at] as IndicatorRecord]);
      codes = real.sample(real.countries, COMPARED, ({ iso3 }) => `compared ${iso3}`).map(({ iso3 }) => iso3);
      codes[0] = 'KEN';
      codes[1] = 'BRA';
    });
    const pageOf = ([across, up]: readonly [IndicatorRecord, IndicatorRecord]): Promise<string> =>
      real.page(`/compare?countries=${codes.join()}&indicators=${across.id},${up.id}`);

    test('has the newest figure of each country with its year and rank, and every point of its line', async () => {
      for (const pair of pairs) {
        const html = await pageOf(pair);
        for (const [at, record] of pair.entries()) {
          const section = sectionOf(html, `compared-${at + 1}`);
          const beside = section.slice(0, section.indexOf('</table>'));
          const rows = await real.history(record, { countries: codes });
          const newest = codes.map((code) => {
            const own = rows.filter(({ iso3 }) => iso3 === code);
            return own.findLast(({ projected }) => !projected) ?? own.at(-1);
          });
          expect([record.id, valuesOf(beside)]).toEqual([
            record.id,
            newest.flatMap((figure) => figure?.value ?? []),
          ]);
          expect(rowsOf(beside).map(([, , year]) => year)).toEqual(
            newest.map((figure) =>
              figure === undefined ? '–' : `${figure.year}${figure.projected ? ' (projected)' : ''}`,
            ),
          );
          expectLines(chartsIn(section, 'wide')[0] ?? '', rows);
        }
      }
    });

    function expectLines(svg: string, rows: readonly TrueFigure[]): void {
      if (rows.length === 0) return;
      const [x, y] = [scaleBelow(svg), valueScale(svg)];
      const withFigures = codes.filter((code) => rows.some(({ iso3 }) => iso3 === code));
      for (const [at, code] of withFigures.entries()) {
        const own = rows.filter(({ iso3 }) => iso3 === code);
        const { vertices = [] } = lineIn(svg, at) ?? {};
        const right = own.filter(({ year, value }, index) => {
          const vertex = vertices[index];
          return vertex && isAt(vertex.x, x(year)) && isAt(vertex.y, y(value));
        });
        expect([code, vertices.length, right.length]).toEqual([code, own.length, own.length]);
      }
    }

    test('has a dot where both figures of each country lie', async () => {
      let dots = 0;
      for (const [across, up] of pairs) {
        const html = await pageOf([across, up]);
        const years = [await real.opening(across), await real.opening(up)].map(
          (opening) => opening?.year ?? 0,
        );
        const year = Math.min(...years);
        const both = await figuresOfBoth([across, up], year);
        const section = sectionOf(html, 'scatter-heading');
        if (both.length === 0) {
          expect(section).toBe('');
          continue;
        }
        expect(textOf(section)).toMatch(new RegExp(`^${both.length} countries in ${year}`));
        for (const className of ['wide', 'narrow'] as const)
          dots += expectDots(chartsIn(section, className)[0] ?? '', both);
      }
      expect(dots).toBeGreaterThan(2_000);
    });

    interface Both {
      iso3: string;
      x: number;
      y: number;
    }

    async function figuresOfBoth(
      pair: readonly [IndicatorRecord, IndicatorRecord],
      year: number,
    ): Promise<Both[]> {
      const [across = [], up = []] = await Promise.all(
        pair.map((record) => real.history(record, { from: year, to: year })),
      );
      return across.flatMap(({ iso3, value: x }) => {
        const other = up.find((figure) => figure.iso3 === iso3);
        return other ? [{ iso3, x, y: other.value }] : [];
      });
    }

    /** Named ones by their names, the others one to one. @returns how many dots there are */
    function expectDots(svg: string, both: readonly Both[]): number {
      const x = scaleBelow(svg, isSkewed(both.map((each) => each.x)));
      const y = valueScale(svg, isSkewed(both.map((each) => each.y)));
      const lies = (dot: { x: number; y: number }, each: Both): boolean =>
        isAt(dot.x, x(each.x)) && isAt(dot.y, y(each.y));
      const named = codes.flatMap((code) => both.find(({ iso3 }) => iso3 === code) ?? []);
      for (const [at, each] of named.entries()) {
        const dot = namedDot(svg, at);
        expect(dot?.name).toBe(real.countries.find(({ iso3 }) => iso3 === each.iso3)?.name);
        expect([each, dot && lies(dot, each)]).toEqual([each, true]);
      }
      const others = both.filter(({ iso3 }) => !codes.includes(iso3));
      const dots = otherDots(svg);
      expect(dots.length).toBe(others.length);
      expect(others.filter((each) => !dots.some((dot) => lies(dot, each)))).toEqual([]);
      expect(dots.filter((dot) => !others.some((each) => lies(dot, each)))).toEqual([]);
      return dots.length + named.length;
    }
  });
});

/** Axes of values of which the largest is far above the middle one have steps of equal ratios. */
function isSkewed(values: readonly number[]): boolean {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = ((sorted[(sorted.length - 1) >> 1] ?? 0) + (sorted[sorted.length >> 1] ?? 0)) / 2;
  return (sorted[0] ?? 0) > 0 && (sorted.at(-1) ?? 0) > 10 * middle;
}

/** Years that a sparkline draws at another height than their value has between the least and the greatest. */
function misdrawn(svg: string, points: readonly TrueFigure[]): number[] {
  const said = /aria-label="(Rose|Fell|Did not change) from (\d+) to (\d+)/.exec(svg);
  const [, first, last] = said?.slice(1) ?? [
    null,
    ...(/aria-label="One figure, of (\d+)/.exec(svg)?.slice(1) ?? []),
  ];
  const [from, to] = [Number(first), Number(last ?? first)];
  const [, , width, height] = /viewBox="(\d+) (?:\d+) (\d+) (\d+)"/.exec(svg)?.map(Number) ?? [];
  const places = [...(/ d="([^"]+)"/.exec(svg)?.[1] ?? '').matchAll(/[ML]([\d.]+) ([\d.]+)/g)];
  const [left, right] = [3, (width ?? 0) - 3];
  const [top, bottom] = [3, (height ?? 0) - 3];
  const heights = new Map(
    places.map(([, x, y]) => [
      Math.round(from + ((Number(x) - left) / (right - left)) * (to - from)),
      (bottom - Number(y)) / (bottom - top),
    ]),
  );
  const values = points.map(({ value }) => value);
  const [least, greatest] = [Math.min(...values), Math.max(...values)];
  const wrong = points.filter(({ year, value }) => {
    const expected = greatest === least ? 0.5 : (value - least) / (greatest - least);
    // Heights are stored as whole hundredths, and places drawn to a tenth.
    return !(Math.abs((heights.get(year) ?? Number.NaN) - expected) < 0.012);
  });
  return heights.size === points.length ? wrong.map(({ year }) => year) : [heights.size, points.length];
}
