/**
 * Counts recent requests per indicator, to decide what stays in memory: with LRU alone, one client that reads the whole
 * catalogue would evict what everybody else reads.
 */

/** After this many requests per indicator on average, all counts are halved. */
const REQUESTS_PER_INDICATOR = 16;

export class Popularity {
  readonly #requests = new Map<string, number>();
  #ageAfter = REQUESTS_PER_INDICATOR;
  #total = 0;

  /** Number of indicators in the served snapshot. */
  set indicators(indicators: number) {
    this.#ageAfter = Math.max(1, indicators) * REQUESTS_PER_INDICATOR;
  }

  /** Counts one request. @returns recent requests, this one included. */
  count(indicator: string): number {
    this.#total += 1;
    if (this.#total >= this.#ageAfter) this.#age();
    const requests = this.of(indicator) + 1;
    this.#requests.set(indicator, requests);
    return requests;
  }

  of(indicator: string): number {
    return this.#requests.get(indicator) ?? 0;
  }

  #age(): void {
    this.#total = 0;
    for (const [indicator, requests] of this.#requests) {
      if (requests > 1) this.#requests.set(indicator, requests >> 1);
      else this.#requests.delete(indicator);
    }
  }
}
