/**
 * Maps a provider's place codes to the country spine, once per code: a provider repeats some hundred codes in
 * millions of rows.
 */
import type { Curated } from '../../data/curated/curated.ts';
import type { RejectReason } from '../../data/schema/lake.ts';

const REASONS = {
  aggregate: 'aggregate_place',
  historical: 'historical_place',
  unknown: 'unknown_place',
} as const satisfies Record<string, RejectReason>;

/** Where a place lies in `countries`, or why it has no place there. */
export type PlaceVerdict = number | RejectReason;

export class PlaceIndex {
  /** ISO3 codes in ascending order: a country's number sorts as its code does. */
  readonly countries: readonly string[];
  readonly #numbers: ReadonlyMap<string, number>;
  readonly #resolve: (code: string) => PlaceVerdict;
  readonly #known = new Map<string, PlaceVerdict>();

  /** @param schemes columns of the place table that the provider's codes are looked up in, in order. */
  constructor(curated: Pick<Curated, 'countries' | 'places'>, schemes: readonly string[]) {
    this.countries = curated.countries.map((country) => country.iso3).sort();
    this.#numbers = new Map(this.countries.map((iso3, number) => [iso3, number]));
    this.#resolve = (code) => {
      const place = curated.places.resolve(schemes, code);
      if (place.kind !== 'country') return REASONS[place.kind];
      return this.#numbers.get(place.iso3) ?? 'unknown_place';
    };
  }

  find(code: string): PlaceVerdict {
    let verdict = this.#known.get(code);
    if (verdict === undefined) {
      verdict = this.#resolve(code);
      this.#known.set(code, verdict);
    }
    return verdict;
  }
}
