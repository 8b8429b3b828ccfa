/** What the planters of faults share: a seed, the good data, and the criteria that need twins. */

import type { Fault } from './fault.ts';
import { compare, type Figure, measured } from './figures.ts';
import type { GoodData, GoodSeries } from './good-data.ts';
import type { Random } from './random.ts';

/** What a fault changes in lake and curated data, by series id. */
export interface Changes {
  figures?: Record<string, Figure[]>;
  /** Upstream's label, or the curated one where there is one. */
  labels?: Record<string, Partial<Record<'name' | 'unit' | 'description', string>>>;
  /** Cells of the overlay table; an empty one is not set. */
  settings?: Record<string, Record<string, string>>;
  /** A new series, and its name, with the figures of `like`. */
  added?: { id: string; like: string; name: string };
  lost?: { provider: string; countries: string[] };
  linked?: [string, string];
}

export interface Planted {
  fault: Fault;
  changes: Changes;
}

export interface Tools {
  random: Random;
  data: GoodData;
}

/** Plants one kind into a series; null when it does not fit. */
export type Planter = (series: GoodSeries, tools: Tools) => Promise<Planted | null>;

const MIN_POINTS = 100;
const MIN_COUNTRIES = 10;
const AGREES = 0.1;
const DIFFERS = 0.3;
/** Common points of one country that tell of it. */
const MIN_YEARS = 5;

/** Whether a twin agreed with the figures before and contradicts them after. */
export async function twinTells(
  { data }: Tools,
  id: string,
  before: readonly Figure[],
  after: readonly Figure[],
): Promise<boolean> {
  for (const twin of data.twinsOf(id)) {
    const others = await data.figures(twin.id);
    const [was, is] = [compare(before, others), compare(after, others)];
    if (is.points < MIN_POINTS || is.countries < MIN_COUNTRIES) continue;
    if (was.difference <= AGREES && is.difference > DIFFERS) return true;
  }
  return false;
}

/** The same for one country. */
export async function twinTellsOf(
  { data }: Tools,
  id: string,
  country: string,
  before: readonly Figure[],
  after: readonly Figure[],
): Promise<boolean> {
  const isCountry = (iso3: string): boolean => iso3 === country;
  for (const twin of data.twinsOf(id)) {
    const others = await data.figures(twin.id);
    if (compare(before, others).difference > AGREES) continue;
    const [was, is] = [compare(before, others, isCountry), compare(after, others, isCountry)];
    if (is.points >= MIN_YEARS && was.difference <= AGREES && is.difference > DIFFERS) return true;
  }
  return false;
}

/** Twins that share enough figures and agree. */
export async function agreeingTwins(
  { data }: Tools,
  id: string,
  figures: readonly Figure[],
): Promise<GoodSeries[]> {
  const twins: GoodSeries[] = [];
  for (const twin of data.twinsOf(id)) {
    const { points, countries, difference } = compare(figures, await data.figures(twin.id));
    if (points >= MIN_POINTS && countries >= MIN_COUNTRIES && difference <= AGREES) twins.push(twin);
  }
  return twins;
}

/** Whether two series have enough common figures, and differ. */
export function clearlyDiffer(a: readonly Figure[], b: readonly Figure[]): boolean {
  const { points, countries, difference } = compare(a, b);
  return points >= MIN_POINTS && countries >= MIN_COUNTRIES && difference > DIFFERS;
}

/** Values of each country by year, ascending. */
export function byCountry(figures: readonly Figure[]): Map<string, { year: number; value: number }[]> {
  return Map.groupBy(measured(figures), ({ iso3 }) => iso3);
}

/** A fault of one series, with its defaults. */
export function faultOf(
  kind: Fault['kind'],
  { id, providerId }: GoodSeries,
  alone: boolean,
  note: string,
  other: string | null = null,
): Fault {
  return { kind, provider: providerId, series: id, other, told: { compared: true, alone }, note };
}

/** A fault that replaces the figures of its series. */
export const replaced = (figures: Figure[], ...fault: Parameters<typeof faultOf>): Planted => ({
  fault: faultOf(...fault),
  changes: { figures: { [fault[1].id]: figures } },
});
