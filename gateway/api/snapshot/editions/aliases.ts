/** Former ids of indicators, as the served edition lists them. They hold for every edition. */
import type { IndicatorAlias } from '../../../../data/schema/curated.ts';

const DAY_MS = 86_400_000;

/** The moment from which an old id answers no more; null: not decided. */
export const sunsetOf = ({ until }: IndicatorAlias): number | null =>
  until === null ? null : Date.parse(until) + DAY_MS;

export class Aliases {
  readonly #byOld: ReadonlyMap<string, IndicatorAlias>;
  /** Newest rename first. */
  readonly #byNew: ReadonlyMap<string, readonly IndicatorAlias[]>;

  constructor(all: readonly IndicatorAlias[] = []) {
    this.#byOld = new Map(all.map((alias) => [alias.old, alias]));
    const newestFirst = all.toSorted((a, b) => (a.since < b.since ? 1 : a.since > b.since ? -1 : 0));
    this.#byNew = Map.groupBy(newestFirst, (alias) => alias.new);
  }

  /** The rename of an old id. */
  of(id: string): IndicatorAlias | undefined {
    return this.#byOld.get(id);
  }

  /** The id that an indicator has today. */
  today(id: string): string {
    return this.#byOld.get(id)?.new ?? id;
  }

  /** All ids that an indicator has had, by its id of today; the newest first. */
  names(id: string): string[] {
    return [id, ...(this.#byNew.get(id) ?? []).map(({ old }) => old)];
  }
}
