/** Maps a provider's place codes to countries, with a cache: some hundred codes repeat in millions of rows. */
import type { Curated } from '../../data/curated/curated.ts';
import type { RejectReason } from '../../data/schema/lake.ts';

const REASONS = {
  aggregate: 'aggregate_place',
  historical: 'historical_place',
  unknown: 'unknown_place',
} as const satisfies Record<string, RejectReason>;

/** An index into `countries`, or why the place is rejected. */
export type PlaceResult = number | RejectReason;

export class PlaceIndex {
  /** Sorted ISO3 codes, so that numbers sort as codes do. */
  readonly countries: readonly string[];
  readonly #numbers: ReadonlyMap<string, number>;
  readonly #resolve: (code: string) => PlaceResult;
  readonly #cache = new Map<string, PlaceResult>();

  /** @param schemes columns of the place table to look codes up in, in order. */
  constructor(curated: Pick<Curated, 'countries' | 'places'>, schemes: readonly string[]) {
    this.countries = curated.countries.map((country) => country.iso3).sort();
    this.#numbers = new Map(this.countries.map((iso3, number) => [iso3, number]));
    this.#resolve = (code) => {
      const place = curated.places.resolve(schemes, code);
      if (place.kind !== 'country') return REASONS[place.kind];
      return this.#numbers.get(place.iso3) ?? 'unknown_place';
    };
  }

  find(code: string): PlaceResult {
    let result = this.#cache.get(code);
    if (result === undefined) {
      result = this.#resolve(code);
      this.#cache.set(code, result);
    }
    return result;
  }
}
