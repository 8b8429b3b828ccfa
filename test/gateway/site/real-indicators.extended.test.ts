/**
 * Pages of a hundred real indicators: every figure that stands there or is drawn is that of the API in the same edition.
 * Pictures are read back by their axes and legends. The list of indicators, searched by words, and suggestions.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import { query } from '../../build/parquet-readers.ts';
import {
  columnsOf,
  linksOf,
  listedBy,
  rowsOf,
  sectionOf,
  tableIn,
  textOf,
  valuesByYear,
  valuesOf,
} from './page-text.ts';
import {
  chartsIn,
  type DrawnLine,
  descriptionOf,
  isAt,
  isInRange,
  legendIn,
  lineIn,
  mapIn,
  type Scale,
  scaleBelow,
  shows,
  valueScale,
} from './read-charts.ts';
import { describeReal, type TrueFigure } from './real-edition.ts';
import { expectRow } from './real-rows.ts';

const OPEN = 75;
const DISPLAY = 25;

describeReal('pages of a hundred real indicators', (real) => {
  let chosen: IndicatorRecord[];
  beforeAll(() => {
    const ofTier = (tier: string) => real.records.filter(({ access_tier }) => access_tier === tier);
    const idOf = ({ id }: IndicatorRecord): string => id;
    chosen = [...real.sample(ofTier('open'), OPEN, idOf), ...real.sample(ofTier('display'), DISPLAY, idOf)];
    expect(chosen.length).toBe(OPEN + DISPLAY);
  });

  const each = async (check: (record: IndicatorRecord, html: string) => Promise<number>): Promise<number> => {
    let compared = 0;
    for (const record of chosen) compared += await check(record, await real.page(`/indicators/${record.id}`));
    return compared;
  };

  test('the ranking has every figure, bound, status, rank and change, and names who has none', async () => {
    let marked = 0;
    const compared = await each(async (record, html) => {
      const held = await real.opened(record);
      const section = sectionOf(html, 'ranking');
      const columns = columnsOf(section);
      const rows = rowsOf(section);
      expect([record.id, rows.length]).toEqual([record.id, held.length]);
      const statuses = await real.statuses(record, held[0]?.year ?? 0);
      for (const [at, figure] of held.entries())
        expectRow(record, columns, { cells: rows[at] ?? [], figure, status: statuses.get(figure.iso3) });
      marked += rows.filter((cells) => cells.some((cell) => / (estimated|provisional)/.test(cell))).length;
      const exact = valuesOf(/<tbody>.*<\/tbody>/s.exec(section)?.[0] ?? '');
      const hasBounds = columns.includes('Bounds');
      expect([record.id, exact]).toEqual([
        record.id,
        held.flatMap(({ value, ci_lo, ci_hi }) =>
          [value, ...(hasBounds ? [ci_lo, ci_hi] : [])].filter((one) => one !== null),
        ),
      ]);
      const missing = real.countries.filter(({ iso3 }) => !held.some((figure) => figure.iso3 === iso3));
      const named = linksOf(/<p class="names">.*?<\/p>/s.exec(section)?.[0] ?? '');
      expect([record.id, named]).toEqual([record.id, missing.map(({ iso3 }) => `/countries/${iso3}`)]);
      return exact.length;
    });
    expect(compared).toBeGreaterThan(10_000);
    expect(marked).toBeGreaterThan(100);
  });

  test('the description is whole, and at most a few lines of it stand above the figures', async () => {
    const folded = await each(async ({ id, description }, html) => {
      const lead = textOf(/<p class="lead">(.*?)<\/p>/s.exec(html)?.[1] ?? '');
      const rest = textOf(/<details class="lead-rest">.*?<p>(.*?)<\/p>/s.exec(html)?.[1] ?? '');
      const whole = (description ?? '').replaceAll(/\s+/g, ' ').trim();
      expect([id, lead.length < 300]).toEqual([id, true]);
      expect([id, rest === whole || [lead, rest].filter(Boolean).join(' ') === whole]).toEqual([id, true]);
      return Number(rest !== '');
    });
    expect(folded).toBeGreaterThan(5);
  });

  describe('the map', () => {
    test('has every country of the year in the class of its value, and says the value', async () => {
      const compared = await each(async (record, html) => {
        const held = await real.opened(record);
        const [svg = ''] = chartsIn(html, 'map');
        expectMap(record, svg, { held, legend: sectionOf(html, 'map') });
        const titles = mapIn(svg);
        for (const { iso3, name, value } of held) {
          const [title = ''] = titles.get(iso3)?.title?.split('\n') ?? [];
          expect(title.startsWith(`${name}: `)).toBe(true);
          expect([
            record.id,
            iso3,
            shows(withoutUnit(title.slice(name.length + 2), record.unit), value),
          ]).toEqual([record.id, iso3, true]);
        }
        return held.length;
      });
      expect(compared).toBeGreaterThan(10_000);
    });

    test('of another year has its values where they are open, in the same classes, in the page, in frames and as a file', async () => {
      for (const record of chosen) {
        const { yr_min } = record.coverage ?? {};
        const { year: opened } = (await real.opening(record)) ?? {};
        if (typeof yr_min !== 'number' || opened === undefined || yr_min >= opened) continue;
        const year = Math.ceil((yr_min + opened) / 2) - 1;
        const held = await real.history(record, { from: year, to: year });
        const html = await real.page(`/indicators/${record.id}?year=${year}`);
        const section = sectionOf(html, 'map');
        if (held.length === 0) {
          expect(textOf(section)).toContain(`No country has a figure of ${year}.`);
          continue;
        }
        const [svg = ''] = chartsIn(html, 'map');
        const legend = section;
        expectMap(record, svg, { held, legend });
        expectMap(record, await real.page(`/indicators/${record.id}/map.svg?year=${year}`), { held, legend });
        const embedded = await real.page(`/embed/indicators/${record.id}?year=${year}`);
        expectMap(record, embedded, { held, legend: embedded });
        const isTitled = [...mapIn(svg).values()].map(({ title }) => title !== null);
        expect([record.id, new Set(isTitled)]).toEqual([record.id, new Set([record.access_tier === 'open'])]);
        const opening = sectionOf(await real.page(`/indicators/${record.id}`), 'map');
        expect([record.id, legendIn(section)]).toEqual([record.id, legendIn(opening)]);
      }
    });

    /** Each country once: hatched, or in the class of its value; and no class has a value of another's range. */
    function expectMap(
      { id }: IndicatorRecord,
      svg: string,
      { held, legend }: { held: readonly TrueFigure[]; legend: string },
    ): void {
      const shapes = mapIn(svg);
      const ranges = legendIn(legend);
      expect([...shapes.keys()].sort()).toEqual(real.countries.map(({ iso3 }) => iso3).sort());
      const byClass = new Map<string, number[]>();
      for (const { iso3, value } of held) {
        const className = shapes.get(iso3)?.className ?? '';
        const range = ranges.find((one) => one.className === className);
        expect([id, iso3, value, range && isInRange(value, range)]).toEqual([id, iso3, value, true]);
        byClass.set(className, [...(byClass.get(className) ?? []), value]);
      }
      const coloured = [...shapes.values()].filter(({ className }) => className !== 'none');
      expect([id, coloured.length]).toEqual([id, held.length]);
      const extents = ranges.flatMap(({ className }) => {
        const values = byClass.get(className) ?? [];
        return values.length === 0 ? [] : [Math.min(...values), Math.max(...values)];
      });
      expect([id, extents]).toEqual([id, extents.toSorted((a, b) => a - b)]);
    }
  });

  describe('the lines', () => {
    test('have every point of every year within a pixel, dashed where projected, with bands of bounds', async () => {
      const compared = await each(async (record, html) => {
        const section = sectionOf(html, 'lines');
        const codes = drawnCountries(section);
        if (codes.length === 0) return 0;
        const rows = await real.history(record, { countries: codes });
        const charts = ['wide', 'narrow'] as const;
        for (const className of charts) {
          const [svg = ''] = chartsIn(section, className);
          expect(expectLines(record, svg, { codes, rows })).toBe(rows.length);
        }
        return rows.length * charts.length;
      });
      expect(compared).toBeGreaterThan(10_000);
    });

    test('stand beside the figures of the year, and are told in words', async () => {
      await each(async (record, html) => {
        const section = sectionOf(html, 'lines');
        const codes = drawnCountries(section);
        const latest = await real.opened(record);
        const shown = codes.map((code) => latest.find(({ iso3 }) => iso3 === code));
        const beside = section.slice(0, section.indexOf('</table>'));
        expect([record.id, valuesOf(beside)]).toEqual([
          record.id,
          shown.flatMap((figure) => figure?.value ?? []),
        ]);
        const field = latest.filter(({ rank }) => rank !== null).length;
        if (!record.no_rank)
          expect(rowsOf(section).map((cells) => cells[2])).toEqual(
            shown.map((figure) => (figure?.rank == null ? '–' : `${figure.rank} of ${field}`)),
          );
        if (codes.length > 0)
          expectWords(record, descriptionOf(chartsIn(section, 'wide')[0] ?? ''), {
            codes,
            rows: await real.history(record, { countries: codes }),
          });
        return codes.length;
      });
    });

    test('stand as a table of every figure of the API, for open series alone', async () => {
      const compared = await each(async (record, html) => {
        const section = sectionOf(html, 'lines');
        const codes = drawnCountries(section);
        const table = tableIn(section, 'lines-table');
        const isOpen = record.access_tier === 'open';
        const rows = isOpen ? await real.history(record, { countries: codes }) : [];
        expect([record.id, valuesOf(table)]).toEqual([record.id, valuesByYear(rows, codes)]);
        const shown = rowsOf(table).map(([year]) => Number(year));
        const years = [...new Set(rows.map(({ year }) => year))].sort((a, b) => b - a);
        expect([record.id, shown]).toEqual([record.id, years]);
        return rows.length;
      });
      expect(compared).toBeGreaterThan(5000);
    });

    const drawnCountries = (section: string): string[] =>
      linksOf(/<ul class="chips".*?<\/ul>/s.exec(section)?.[0] ?? '').flatMap(
        (href) => /^\/countries\/([A-Z]{3})$/.exec(href)?.[1] ?? [],
      );

    /** @returns how many points were found where they belong */
    function expectLines(
      { id }: IndicatorRecord,
      svg: string,
      { codes, rows }: { codes: readonly string[]; rows: readonly TrueFigure[] },
    ): number {
      const scales = { x: scaleBelow(svg), y: valueScale(svg) };
      const withFigures = codes.filter((code) => rows.some(({ iso3 }) => iso3 === code));
      for (const [at, code] of withFigures.entries()) {
        const own = rows.filter(({ iso3 }) => iso3 === code);
        const line = lineIn(svg, at);
        expect([id, code, line?.vertices.length]).toEqual([id, code, own.length]);
        if (line === undefined) continue;
        expect([id, code, misplacedPoints(line, own, scales)]).toEqual([id, code, []]);
        expect([id, code, misplacedBands(line, own, scales)]).toEqual([id, code, []]);
      }
      return rows.filter(({ iso3 }) => withFigures.includes(iso3)).length;
    }

    /** Expects what rose or fell: from when, of an open series from what, and the newest observed figure. */
    function expectWords(
      { id, unit, access_tier }: IndicatorRecord,
      description: string,
      { codes, rows }: { codes: readonly string[]; rows: readonly TrueFigure[] },
    ): void {
      const told = [...description.matchAll(TOLD)].map(({ groups = {} }) => groups);
      const byCountry = codes
        .map((code) => rows.filter(({ iso3 }) => iso3 === code))
        .filter(({ length }) => length > 0);
      expect([id, told.length]).toEqual([id, byCountry.length]);
      for (const [at, own] of byCountry.entries()) {
        const { moved, start, from, text = '', year } = told[at] ?? {};
        const point = own.findLast(({ projected }) => !projected) ?? own.at(-1);
        expect([id, moved, from, year]).toEqual([id, ...movement(own[0], point), String(point?.year)]);
        const hasStart = access_tier === 'open' && moved !== undefined;
        const isRight = start !== undefined && shows(start, own[0]?.value ?? Number.NaN);
        expect([id, start, hasStart ? isRight : start]).toEqual([id, start, hasStart ? true : undefined]);
        expect([id, text, shows(withoutUnit(text, unit), point?.value ?? Number.NaN)]).toEqual([
          id,
          text,
          true,
        ]);
      }
    }
  });

  test('bars have the first countries of the list, in proportion', async () => {
    const compared = await each(async (record) => {
      const held = await real.opened(record);
      const svg = await real.page(`/indicators/${record.id}/bars.svg`);
      const bars = [...svg.matchAll(/<rect x="(-?\d+)" [^>]*?width="(\d+)"[^>]*?fill="currentColor"/g)];
      const texts = [...svg.matchAll(/<text [^>]*font-size="17"[^>]*>([^<]*)</g)].map(([, text]) => text);
      expect(bars.length).toBe(Math.min(held.length, bars.length));
      expect(bars.length).toBeGreaterThan(0);
      const shown = held.slice(0, bars.length);
      const largest = Math.max(...shown.map(({ value }) => Math.abs(value)));
      const longest = Math.max(...bars.map(([, , width]) => Number(width)));
      for (const [at, { value }] of shown.entries()) {
        const width = Number(bars[at]?.[2]);
        // Both ends are rounded, and there is always something to see.
        const error = 1 + longest / Math.max(longest - 1, 1);
        expect(Math.abs(width - Math.max(1, (Math.abs(value) / largest) * longest))).toBeLessThanOrEqual(
          error,
        );
        expect(texts.some((text) => /^-?[\d,.]+/.test(text ?? '') && shows(text ?? '', value))).toBe(true);
      }
      return shown.length;
    });
    expect(compared).toBeGreaterThan(1_000);
  });
});

describeReal('the search of the real edition', (real) => {
  const pathOf = (words: string, more = {}): string =>
    `/indicators?${new URLSearchParams({ q: words, ...more })}`;
  const suggested = async (words: string): Promise<string[]> => {
    const offered: { path: string }[] = await real.json(`/suggest?${new URLSearchParams({ q: words })}`);
    return offered.map(({ path }) => path);
  };
  const LIFE = ['world-bank.SP.DYN.LE00.IN'];
  const PHRASES = [
    'life expectancy',
    'population',
    'gdp',
    'schooling',
    'unemployment rate',
    'child mortality',
  ];

  test.each([
    ['CO₂', ['world-bank.EN.ATM.CO2E.KT', 'world-bank.EN.ATM.CO2E.PC']],
    ['lifespan', LIFE],
    ['how long do people live', LIFE],
    ['murder rate', ['world-bank.VC.IHR.PSRC.P5']],
  ])('finds the right series first, as a page and as a suggestion: %s', async (words, right) => {
    expect(right).toContain(listedBy(await real.page(pathOf(words)))[0]);
    const first = (await suggested(words)).find((path) => path.startsWith('/indicators/'));
    expect(right.map((id) => `/indicators/${id}`)).toContain(first);
  });

  test('lists a concept once, with a link to a series of each other provider that has it', async () => {
    let twins = 0;
    for (const words of PHRASES) {
      const html = await real.page(pathOf(words));
      const { data } = await real.json(`/v1/search?${new URLSearchParams({ q: words, limit: '10' })}`);
      const listed = listedBy(html);
      expect([words, listed.slice(0, data.length)]).toEqual([
        words,
        data.map(({ id }: { id: string }) => id),
      ]);
      const items = html.split('<li class="hit">').slice(1);
      for (const [at, hit] of data.entries()) {
        const linked = linksOf(items[at] ?? '').flatMap(
          (href) => /^\/indicators\/(.+)$/.exec(href)?.[1] ?? [],
        );
        const provider = (id: string): string => id.split('.')[0] ?? '';
        const others = new Set(hit.twins.map(provider));
        others.delete(hit.provider);
        expect([hit.id, linked.map(provider)]).toEqual([hit.id, [hit.provider, ...others]]);
        expect(listed.filter((id) => hit.twins.includes(id))).toEqual([]);
        twins += others.size;
      }
    }
    expect(twins).toBeGreaterThan(5);
  });

  test('suggests each country by everything that it is called', async () => {
    const served = new Set(real.countries.map(({ iso3 }) => iso3));
    const called = await query(
      `SELECT code, iso3 FROM read_csv('data/places.csv') WHERE scheme IN ('names', 'spoken') AND iso3 IS NOT NULL`,
    );
    expect(called.length).toBeGreaterThan(500);
    const missed: unknown[] = [];
    for (const { code, iso3 } of called)
      if (served.has(String(iso3)) && !(await suggested(String(code))).includes(`/countries/${iso3}`))
        missed.push([code, iso3]);
    expect(missed).toEqual([]);
    for (const [typed, iso3] of [
      ['holl', 'NLD'],
      ['Ivory C', 'CIV'],
      ['uk', 'GBR'],
      ['Brita', 'GBR'],
    ])
      expect([typed, await suggested(String(typed))]).toEqual([
        typed,
        expect.arrayContaining([`/countries/${iso3}`]),
      ]);
  });
});

interface Scales {
  x: Scale;
  y: Scale;
}

/** Years whose figure is drawn elsewhere, or as if it were projected. */
const misplacedPoints = ({ vertices }: DrawnLine, own: readonly TrueFigure[], { x, y }: Scales): number[] =>
  own.flatMap(({ year, value, projected }, at) => {
    const vertex = vertices[at];
    const isThere = vertex && isAt(vertex.x, x(year)) && isAt(vertex.y, y(value));
    // A projection without a year beside it is a dot, which cannot be dashed.
    const isMarked = projected || vertex?.isDashed === false;
    return isThere && isMarked ? [] : [year];
  });

/** Edges of bands that are those of no year, or all years with bounds where there is no band at all. */
function misplacedBands({ bands }: DrawnLine, own: readonly TrueFigure[], { x, y }: Scales): unknown[] {
  const bounded = own.filter(({ ci_lo, ci_hi }) => ci_lo !== null && ci_hi !== null);
  if (bands.length === 0 && bounded.length === own.length && own.length > 2) return bounded;
  return bands.filter(
    (band) =>
      !bounded.some(
        ({ year, ci_lo, ci_hi }) =>
          isAt(band.x, x(year)) && isAt(band.upper, y(ci_hi ?? 0)) && isAt(band.lower, y(ci_lo ?? 0)),
      ),
  );
}

/** `1,712` of `1,712 billion US$`, where the unit is `billion US$`. */
const withoutUnit = (text: string, unit: string | null): string =>
  unit !== null && text.endsWith(` ${unit}`) ? text.slice(0, -unit.length - 1) : text;

/** `Kenya rose from 57.7 in 1990 to 63.6 years in 2023.` or `Kenya: 63.6 years in 2023.` */
const TOLD =
  /(?: (?<moved>rose|fell|did not change) from (?:(?<start>\S+(?: \w+illion)?) in )?(?<from>-?\d+) to|:) (?<text>\S.*?) in (?<year>-?\d+)\. ?/g;

const movement = (first: TrueFigure | undefined, last: TrueFigure | undefined): (string | undefined)[] => {
  if (!first || !last || first.year === last.year) return [undefined, undefined];
  const direction = Math.sign(last.value - first.value) + 1;
  return [['fell', 'did not change', 'rose'][direction], String(first.year)];
};
