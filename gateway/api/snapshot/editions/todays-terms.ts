/**
 * Today's decisions, which govern every edition: what may be published, under which terms and ids, and for which countries.
 * They are those of the served snapshot.
 */
import { isDeepStrictEqual } from 'node:util';
import type { IndicatorAlias } from '../../../../data/schema/curated.ts';
import { providerOf, termsFile, type VanishedIndicator } from '../../../../data/schema/snapshot.ts';
import type { SnapshotFiles } from '../files/snapshot-files.ts';
import type { Catalogue, CatalogueEntry, CatalogueItem } from './catalogue.ts';
import type { Edition } from './edition.ts';

const DAY_MS = 86_400_000;

/** The moment from which an old id answers no more; null: not decided. */
export const sunsetOf = ({ until }: IndicatorAlias): number | null =>
  until === null ? null : Date.parse(until) + DAY_MS;

/** Former ids of indicators, as the served edition lists them. They hold for every edition. */
export class Aliases {
  /** The rename of an old id. */
  readonly byOld: ReadonlyMap<string, IndicatorAlias>;
  /** Newest rename first. */
  readonly #byNew: ReadonlyMap<string, readonly IndicatorAlias[]>;

  constructor(all: readonly IndicatorAlias[] = []) {
    this.byOld = new Map(all.map((alias) => [alias.old, alias]));
    const newestFirst = all.toSorted((a, b) => (a.since < b.since ? 1 : a.since > b.since ? -1 : 0));
    this.#byNew = Map.groupBy(newestFirst, (alias) => alias.new);
  }

  /** The id that an indicator has today. */
  today(id: string): string {
    return this.byOld.get(id)?.new ?? id;
  }

  /** All ids that an indicator has had, by its id of today; the newest first. */
  names(id: string): string[] {
    return [id, ...(this.#byNew.get(id) ?? []).map(({ old }) => old)];
  }
}

/** The edition that is served, whose decisions govern all. */
export interface ServedEdition extends Edition {
  readonly catalogue: Catalogue;
  readonly files: SnapshotFiles;
  readonly aliases: Aliases;
  indicator(id: string): CatalogueItem | undefined;
  /** A prerendered JSON body. */
  body(file: string): Buffer | Promise<Buffer>;
}

/** By which figures are derived: that of an edition holds for its figures. */
const measureOf = ({ traits, measured }: CatalogueEntry) => [traits, measured];

export type Terms = Pick<VanishedIndicator, 'access_tier' | 'licence' | 'licence_url' | 'attribution'>;

export class TodaysTerms {
  readonly served: ServedEdition;
  #providerNames: ReadonlyMap<string, string> | null = null;
  /** By provider, then indicator. */
  readonly #vanished = new Map<string, ReadonlyMap<string, Terms>>();

  constructor(served: ServedEdition) {
    this.served = served;
  }

  get aliases(): Aliases {
    return this.served.aliases;
  }

  /** The id of today. */
  idOf(id: string): string {
    return this.served.indicator(id) === undefined ? this.aliases.today(id) : id;
  }

  /** Whether anything of a provider may be shown, of today or of the past. */
  async hasProvider(id: string): Promise<boolean> {
    return this.#names().has(id) || (await this.#vanishedOf(id)).size > 0;
  }

  hasCountry(iso3: string): boolean {
    return this.served.countriesByCode.has(iso3);
  }

  /** The terms of an indicator; undefined when it may not be published. */
  async of(anyId: string): Promise<Terms | undefined> {
    const id = this.idOf(anyId);
    return this.served.indicator(id)?.record ?? (await this.#vanishedOf(providerOf(id))).get(id);
  }

  /** An indicator of any edition under today's terms; undefined when it may not be published. */
  async govern(entry: CatalogueEntry): Promise<CatalogueEntry | undefined> {
    const id = this.idOf(entry.record.id);
    const today = this.served.indicator(id);
    const hasRecord = today?.json === entry.json && today.topicOrder === entry.topicOrder;
    if (hasRecord && isDeepStrictEqual(measureOf(today), measureOf(entry))) return today;
    const terms = await this.of(id);
    if (terms === undefined) return undefined;
    const { access_tier, licence, licence_url, attribution } = terms;
    const { id: providerId, name: formerName } = entry.record.provider;
    const name = this.#names().get(providerId) ?? formerName;
    // Beside the provider's name stand the terms of the series.
    const provider = today?.record.provider ?? { id: providerId, name, licence, licence_url, attribution };
    const record = { ...entry.record, id, access_tier, licence, licence_url, attribution, provider };
    return { ...entry, record, json: JSON.stringify(record) };
  }

  /** Names of the providers by id. */
  #names(): ReadonlyMap<string, string> {
    this.#providerNames ??= new Map(
      [...this.served.catalogue.indicators.values()].map(({ record: { provider } }) => [
        provider.id,
        provider.name,
      ]),
    );
    return this.#providerNames;
  }

  async #vanishedOf(provider: string): Promise<ReadonlyMap<string, Terms>> {
    const known = this.#vanished.get(provider);
    if (known !== undefined) return known;
    const listed = (await this.served.files.json<VanishedIndicator[]>(termsFile(provider))) ?? [];
    const terms = new Map(listed.map((one) => [one.id, one]));
    this.#vanished.set(provider, terms);
    return terms;
  }
}
