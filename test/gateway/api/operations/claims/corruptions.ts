/** Seeded corruptions of true values, and what their text allows to tell. Nothing here is code of the gateway. */
import type { Random } from '../../../../seeded-random.ts';
import { type EditionTruth, isRight, type Place, ROUNDED_MAX, type Twin } from './truth.ts';

export const KINDS = [
  'wrong_year',
  'wrong_country',
  'percent',
  'thousand',
  'rounded',
  'other_provider',
  'superseded',
] as const;
export type Kind = (typeof KINDS)[number];

/** The verdict or reason that tells each corruption. */
export const TOLD_AS: Record<Kind, string> = {
  wrong_year: 'wrong_year',
  wrong_country: 'wrong_country',
  percent: 'scale',
  thousand: 'scale',
  rounded: 'rounded',
  other_provider: 'other_provider',
  superseded: 'superseded',
};

/** It is right or rounded as it stands, was so in an earlier edition, or another mistake gives the same figure. */
export const OBSCURITIES = ['right', 'was_right', 'another_figure'] as const;
export type Obscurity = (typeof OBSCURITIES)[number];

export interface Corruption extends Place {
  kind: Kind;
  text: string;
  /** The true value. */
  value: number;
}

/** Figures that an earlier edition had and the served one has changed. */
export interface Revised extends Place {
  values: number[];
}

export interface World {
  now: EditionTruth;
  twins: ReadonlyMap<string, readonly Twin[]>;
  revised: readonly Revised[];
}

const keyOf = ({ indicator, iso3, year }: Place): string => `${indicator} ${iso3} ${year}`;

export class Corruptions {
  readonly #world: World;
  readonly #random: Random;
  readonly #twinned: readonly string[];
  readonly #earlier: ReadonlyMap<string, readonly number[]>;

  constructor(world: World, random: Random) {
    this.#world = world;
    this.#random = random;
    this.#twinned = world.now.open.filter((id) =>
      (world.twins.get(id) ?? []).some((twin) => this.#isOpen(twin)),
    );
    this.#earlier = new Map(world.revised.map((one) => [keyOf(one), one.values]));
  }

  /** As many of each kind, in turn. */
  make(count: number): Corruption[] {
    const made: Corruption[] = [];
    while (made.length < count) {
      const kind = KINDS[made.length % KINDS.length] ?? 'rounded';
      const one = this.#tryOne(kind);
      if (one !== null) made.push(one);
    }
    return made;
  }

  /** Why the text alone does not allow to tell what is wrong; null when it does. */
  obscuredBy(one: Corruption): Obscurity | null {
    const { kind, text, value } = one;
    if (kind === 'rounded') return null;
    if (isRight(text, value)) return 'right';
    if (kind === 'superseded') return null;
    if ((this.#earlier.get(keyOf(one)) ?? []).some((was) => isRight(text, was))) return 'was_right';
    const others = Object.entries(this.#sources(one)).filter(([reason]) => reason !== TOLD_AS[kind]);
    return others.some(([, values]) => values.includes(Number(text))) ? 'another_figure' : null;
  }

  /** Figures that each kind of mistake would give instead of the true one. */
  #sources({ indicator, iso3, year, value }: Corruption): Record<string, number[]> {
    const { now, twins } = this.#world;
    const scales = [2, 3, 6, 9].flatMap((power) => [value * 10 ** power, value / 10 ** power]);
    const twinValues = (twins.get(indicator) ?? []).flatMap(({ indicator: id, factor }) => {
      const found = now.value({ indicator: id, iso3, year });
      return found === undefined ? [] : [found, found * factor];
    });
    return {
      scale: value === 0 ? [] : scales,
      other_provider: twinValues,
      wrong_year: [...now.years({ indicator, iso3 })]
        .filter(([one]) => one !== year)
        .map(([, found]) => found),
      wrong_country: [...now.countries({ indicator, year })]
        .filter(([one]) => one !== iso3)
        .map(([, found]) => found),
    };
  }

  /** Null when the place that was drawn has no such corruption. */
  #tryOne(kind: Kind): Corruption | null {
    const place = this.#place(kind);
    if (place === null) return null;
    const value = this.#world.now.value(place);
    const text = value === undefined ? null : this.#textOf(kind, place, value);
    // A text that reads as the true value is no corruption.
    if (value === undefined || text === null || Number(text) === value) return null;
    return { kind, ...place, text, value };
  }

  #place(kind: Kind): Place | null {
    const { now, revised } = this.#world;
    if (kind === 'superseded') {
      const { indicator, iso3, year } = this.#random.pick(revised);
      return { indicator, iso3, year };
    }
    const indicator = this.#random.pick(kind === 'other_provider' ? this.#twinned : now.open);
    const countries = [...(now.series.get(indicator) ?? [])];
    const [iso3, years] = this.#random.pick(countries);
    return { indicator, iso3, year: this.#random.pick([...years.keys()]) };
  }

  #textOf(kind: Kind, place: Place, value: number): string | null {
    const { now } = this.#world;
    switch (kind) {
      case 'wrong_year':
        return String(this.#random.pick([...now.years(place).values()]));
      case 'wrong_country':
        return String(this.#random.pick([...now.countries(place).values()]));
      case 'percent':
        return String(this.#random.next() < 0.5 ? value * 100 : value / 100);
      case 'thousand':
        return String(value * 1000);
      case 'rounded':
        return this.#rounded(value);
      case 'other_provider':
        return this.#ofTwin(place);
      case 'superseded':
        return String(this.#random.pick(this.#earlier.get(keyOf(place)) ?? [value]));
    }
  }

  /** To one to four digits, as a plain number or with an exponent. */
  #rounded(value: number): string | null {
    const text = value.toPrecision(this.#random.between(1, 4));
    if (Math.abs(Number(text) / value - 1) > ROUNDED_MAX) return null;
    return this.#random.next() < 0.5 ? text : String(Number(text));
  }

  #ofTwin({ indicator, iso3, year }: Place): string | null {
    const twins = (this.#world.twins.get(indicator) ?? []).filter((twin) => this.#isOpen(twin));
    const value = this.#world.now.value({ indicator: this.#random.pick(twins).indicator, iso3, year });
    return value === undefined ? null : String(value);
  }

  #isOpen({ indicator }: Twin): boolean {
    return this.#world.now.open.includes(indicator);
  }
}

/** Places whose value is another than in earlier editions, with the values that those had. */
export function revisedFigures(now: EditionTruth, earlier: readonly EditionTruth[]): Revised[] {
  const found = new Map<string, Revised>();
  for (const { place, value } of earlier.flatMap((edition) => [...edition.figures(now.open)])) {
    const today = now.value(place);
    if (today === undefined || today === value) continue;
    const known = found.get(keyOf(place)) ?? { ...place, values: [] };
    if (!known.values.includes(value)) known.values.push(value);
    found.set(keyOf(place), known);
  }
  return [...found.values()];
}
