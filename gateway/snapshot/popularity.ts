/**
 * How often each indicator was asked for lately. It decides what is worth memory: without it, one reader who goes
 * through the whole catalogue would push out what everybody else reads.
 */

/** After so many asks for each indicator on average, all counts are halved: yesterday's favourites fade. */
const ASKS_PER_INDICATOR = 16;

export class Popularity {
  readonly #asks = new Map<string, number>();
  readonly #agesAfter: number;
  #total = 0;

  /** @param indicators how many there are; only their ids are counted, so the counts are bounded. */
  constructor(indicators: number) {
    this.#agesAfter = Math.max(1, indicators) * ASKS_PER_INDICATOR;
  }

  /** Counts one ask, and gives how many there were lately, this one included. */
  count(indicator: string): number {
    this.#total += 1;
    if (this.#total >= this.#agesAfter) this.#age();
    const asks = this.of(indicator) + 1;
    this.#asks.set(indicator, asks);
    return asks;
  }

  of(indicator: string): number {
    return this.#asks.get(indicator) ?? 0;
  }

  #age(): void {
    this.#total = 0;
    for (const [indicator, asks] of this.#asks) {
      if (asks > 1) this.#asks.set(indicator, asks >> 1);
      else this.#asks.delete(indicator);
    }
  }
}
