/**
 * Today's decisions, which govern every edition: what may be published, under which terms, and for which countries. They
 * are those of the served snapshot.
 */
import type { ProviderCredit } from '../../data/schema/records.ts';
import { providerOf, termsFile, type VanishedIndicator } from '../../data/schema/snapshot.ts';
import type { Catalogue, CatalogueEntry, CatalogueItem } from './catalogue.ts';
import type { Edition } from './edition.ts';
import type { SnapshotFiles } from './snapshot-files.ts';

/** The edition that is served, whose decisions govern all. */
export interface ServedEdition extends Edition {
  readonly catalogue: Catalogue;
  readonly files: SnapshotFiles;
  indicator(id: string): CatalogueItem | undefined;
}

export type Terms = Pick<VanishedIndicator, 'access_tier' | 'licence' | 'licence_url' | 'attribution'>;

export class TodaysTerms {
  readonly served: ServedEdition;
  #credits: ReadonlyMap<string, ProviderCredit> | null = null;
  /** By provider, then indicator. */
  readonly #vanished = new Map<string, ReadonlyMap<string, Terms>>();

  constructor(served: ServedEdition) {
    this.served = served;
  }

  hasCountry(iso3: string): boolean {
    return this.served.countriesByCode.has(iso3);
  }

  /** The terms of an indicator; undefined when it may not be published. */
  async of(id: string): Promise<Terms | undefined> {
    return this.served.indicator(id)?.record ?? (await this.#vanishedOf(providerOf(id))).get(id);
  }

  /** An indicator of any edition under today's terms; undefined when it may not be published. */
  async govern(entry: CatalogueEntry): Promise<CatalogueEntry | undefined> {
    const { id } = entry.record;
    const today = this.served.indicator(id);
    if (today?.json === entry.json && today.topicOrder === entry.topicOrder) return today;
    const terms = await this.of(id);
    if (terms === undefined) return undefined;
    const { access_tier, licence, licence_url, attribution } = terms;
    const provider = this.#creditOf(entry.record.provider);
    const record = { ...entry.record, access_tier, licence, licence_url, attribution, provider };
    return { ...entry, record, json: JSON.stringify(record) };
  }

  #creditOf(before: ProviderCredit): ProviderCredit {
    this.#credits ??= new Map(
      [...this.served.catalogue.indicators.values()].map(({ record: { provider } }) => [
        provider.id,
        provider,
      ]),
    );
    return this.#credits.get(before.id) ?? before;
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
