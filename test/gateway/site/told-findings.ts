/** Holds what the home page tells of an edition to the rows of the API: each sentence is recomputed, and so are the rules of choice. */
import { expect } from 'vitest';
import type { IndicatorRecord, ObservationRow } from '../../../data/schema/records.ts';
import { figureText } from '../../../gateway/site/figures.ts';
import { sectionOf, textOf, valuesOf } from './page-text.ts';

/** Asks the API. */
// biome-ignore lint/suspicious/noExplicitAny: the shape is that of the operation, which the service's own check holds
export type Ask = (path: string) => Promise<any>;

interface Told {
  id: string;
  sentence: string;
  rows: readonly ObservationRow[];
  /** ISO3 by name. */
  codes: ReadonlyMap<string, string>;
}

/** @returns the kinds that are told, in their order. @param people of countries by ISO3; empty where nobody knows */
export async function checkHome(
  ask: Ask,
  html: string,
  people: ReadonlyMap<string, number>,
): Promise<string[]> {
  const countries: { iso3: string; name: string }[] = (await ask('/v1/countries')).data;
  const codes = new Map(countries.map(({ iso3, name }) => [name, iso3]));
  const bySize = countries.toSorted((a, b) => (people.get(b.iso3) ?? 0) - (people.get(a.iso3) ?? 0));
  const populous = new Set(bySize.slice(0, 30).map(({ iso3 }) => iso3));
  const topics = new Set<string>();
  const kinds: string[] = [];
  const cards = sectionOf(html, 'told').split('<li class="card">').slice(1);
  for (const card of cards) {
    const id = /href="\/indicators\/([^"?]+)/.exec(card)?.[1] ?? '';
    const sentence = textOf(/<p>(.*?)<\/p>/s.exec(card)?.[1] ?? '');
    topics.add(await expectTold(ask, id));
    const { data } = await ask(`/v1/data?indicator=${id}`);
    const rows = (data as ObservationRow[]).filter(({ value, projected }) => value !== null && !projected);
    kinds.push(expectTrue({ id, sentence, rows, codes }, populous));
    expect(card).toMatch(/<svg class="chart.*<path/s);
    expectTable(card, rows);
  }
  expect([...topics].length).toBe(cards.length);
  return kinds;
}

/** The table below lines has every figure of the places, the newest year first. A map has none. */
function expectTable(card: string, rows: readonly ObservationRow[]): void {
  const places = /countries=([A-Z,]+)/.exec(card)?.[1]?.split(',') ?? [];
  const newest = Number(/<th scope="row">(\d+)</.exec(card)?.[1] ?? Infinity);
  const drawn = rows
    .filter(({ iso3, year }) => places.includes(iso3) && year <= newest)
    .sort((a, b) => b.year - a.year || places.indexOf(a.iso3) - places.indexOf(b.iso3));
  expect(valuesOf(/<tbody>.*<\/tbody>/s.exec(card)?.[0] ?? '')).toEqual(drawn.map(({ value }) => value));
}

/** The series is one that may be told. @returns its topic */
async function expectTold(ask: Ask, id: string): Promise<string> {
  const { data } = await ask(`/v1/indicators/${id}?include=quality,twins,breaks`);
  const { featured, access_tier, no_rank, unit, topic, preferred } = data as IndicatorRecord;
  expect({ id, featured, access_tier, no_rank }).toEqual({
    id,
    featured: true,
    access_tier: 'open',
    no_rank: false,
  });
  expect(unit ?? '').not.toMatch(/current/);
  const open = data.quality.filter(({ decision }: { decision: string | null }) => decision === null);
  expect([id, open, data.breaks]).toEqual([id, [], []]);
  for (const { difference } of data.twins) expect(difference?.median ?? 0).toBeLessThanOrEqual(0.05);
  expect([id, preferred || data.twins.length === 0]).toEqual([id, true]);
  return topic;
}

/** @returns the kind of the sentence */
function expectTrue(told: Told, populous: ReadonlySet<string>): string {
  for (const [kind, pattern, check] of SENTENCES) {
    const parts = pattern.exec(told.sentence)?.groups;
    if (parts === undefined) continue;
    check(told, parts, populous);
    return kind;
  }
  throw new Error(`an unknown sentence: ${told.sentence}`);
}

type Check = (told: Told, parts: Record<string, string>, populous: ReadonlySet<string>) => void;

const SENTENCES: readonly [kind: string, pattern: RegExp, check: Check][] = [
  [
    'crossing',
    /^(?<above>.+) has been above (?<below>.+) since (?<since>\d+), after being below it in every year from (?<from>\d+) to (?<until>\d+): (?<high>.+) against (?<low>.+) in (?<year>\d+)\.$/,
    (told, { above = '', below = '', since, from, until, high, low, year }, populous) => {
      const [one, other] = [above, below].map((name) => figuresIn(told, name));
      const isAbove = (at: number) => (one?.get(at) ?? Number.NaN) > (other?.get(at) ?? Number.NaN);
      const isBelow = (at: number) => (one?.get(at) ?? Number.NaN) < (other?.get(at) ?? Number.NaN);
      expect(Number(until)).toBe(Number(since) - 1);
      expect(span(from, until).length).toBeGreaterThanOrEqual(10);
      expect(span(from, until).filter((at) => !isBelow(at))).toEqual([]);
      expect(span(since, year).filter((at) => !isAbove(at))).toEqual([]);
      for (const name of [above, below]) expect(populous).toContain(told.codes.get(name));
      expect(isShown(high, one?.get(Number(year))) && isShown(low, other?.get(Number(year)))).toBe(true);
      expect(high).not.toBe(low);
    },
  ],
  [
    'shared',
    /^In (?<most>\d+) of (?<all>\d+) countries it was (?<word>higher|lower) in (?<year>\d+) than in (?<base>\d+)\.$/,
    ({ rows }, { most, all, word, year, base }) => {
      const at = (one?: string) =>
        new Map(rows.filter((row) => row.year === Number(one)).map((row) => [row.iso3, row.value ?? 0]));
      const [now, before] = [at(year), at(base)];
      const both = [...now].filter(([iso3]) => before.has(iso3));
      const moved = both.filter(([iso3, value]) =>
        word === 'higher' ? value > (before.get(iso3) ?? 0) : value < (before.get(iso3) ?? 0),
      );
      expect([moved.length, both.length]).toEqual([Number(most), Number(all)]);
      expect(moved.length).toBeGreaterThan(both.length / 2);
    },
  ],
  [
    'change',
    /^In (?<place>.+) it (?<word>rose|fell) from (?<old>.+) in (?<base>\d+) to (?<now>.+) in (?<year>\d+), the greatest relative change among (?<count>\d+) of the most populous countries\.$/,
    (told, { place = '', word, old, base, now, year, count }, populous) => {
      const factors = [...populous].flatMap((iso3) => {
        const own = figuresOf(told, iso3);
        const [a = 0, b = 0] = [own.get(Number(base)), own.get(Number(year))];
        return a > 0 && b > 0 ? [{ iso3, factor: Math.max(a / b, b / a), a, b }] : [];
      });
      const greatest = factors.reduce((most, one) => (one.factor > most.factor ? one : most));
      expect([greatest.iso3, factors.length]).toEqual([told.codes.get(place), Number(count)]);
      expect(greatest.b > greatest.a).toBe(word === 'rose');
      expect(greatest.factor).toBeLessThanOrEqual(10);
      expect(isShown(old, greatest.a) && isShown(now, greatest.b)).toBe(true);
    },
  ],
  [
    'record',
    /^In (?<place>.+) it was (?<now>.+) in (?<year>\d+), the (?<word>highest|lowest) of (?<count>\d+) yearly figures since (?<from>\d+)\.$/,
    (told, { place = '', now, year, word, count, from }, populous) => {
      const own = [...figuresIn(told, place)].filter(([at]) => at <= Number(year)).sort(([a], [b]) => a - b);
      const last = own.at(-1)?.[1] ?? Number.NaN;
      expect([own[0]?.[0], own.at(-1)?.[0], own.length].map(String)).toEqual([from, year, count]);
      for (const [, value] of own.slice(0, -1))
        expect(word === 'highest' ? value < last : value > last).toBe(true);
      expect(isShown(now, last)).toBe(true);
      expect(populous).toContain(told.codes.get(place));
    },
  ],
];

const span = (from = '', to = ''): number[] =>
  Array.from({ length: Number(to) - Number(from) + 1 }, (_, at) => Number(from) + at);

const figuresOf = ({ rows }: Told, iso3 = ''): Map<number, number> =>
  new Map(rows.filter((row) => row.iso3 === iso3).map(({ year, value }) => [year, value ?? 0]));

const figuresIn = (told: Told, name: string): Map<number, number> => figuresOf(told, told.codes.get(name));

/** Zeros that align columns aside. */
const isShown = (text = '', value = Number.NaN): boolean =>
  text === figureText(value) ||
  Number(text.replaceAll(',', '')) === Number(figureText(value).replaceAll(',', ''));
