/**
 * An edition that is not served: it computes from kept files what is prerendered for the served one. Its files are read
 * when they are wanted. Figures, names and countries are its own; today's decisions govern what is shown.
 */
import { LIST, listValue, VARCHAR } from '@duckdb/node-api';
import type { Recipe } from '../../../../data/derived/recompute.ts';
import type { Notice, Receipt } from '../../../../data/proofs/receipt.ts';
import { readSql } from '../../../../data/runtime/sql-files.ts';
import { type EditionGroups, GROUPS, type StoredGroups } from '../../../../data/schema/groups.ts';
import type {
  CountryRecord,
  IndicatorRecord,
  RelatedEntry,
  TopicItem,
  TopicRecord,
} from '../../../../data/schema/records.ts';
import {
  type AdditionWord,
  COUNTRIES,
  compareByName,
  LATEST_FOLDER,
  type LogEntry,
  providerOf,
  relationsFile,
  type Sparkline,
  TOPICS,
} from '../../../../data/schema/snapshot.ts';
import { readManifest } from '../files/manifest.ts';
import { ByteCache, once } from '../files/memory.ts';
import { catalogueEntries, type SharedParts } from '../files/shared-parts.ts';
import { SnapshotFiles } from '../files/snapshot-files.ts';
import { bundleOf, observationsOf, type StoredFile } from '../files/whole-files.ts';
import { readGroupFigures } from '../rows/group-figures.ts';
import { Observations } from '../rows/observations.ts';
import { AddedLists, governedLists } from './added-lists.ts';
import { Catalogue, type CatalogueEntry, type CountryItem } from './catalogue.ts';
import { type Derivation, Derivations } from './derivations.ts';
import {
  type CountryProfile,
  type Edition,
  type Editions,
  type LoadedLists,
  parseProfile,
  type RankingDocument,
  type ResolvedId,
} from './edition.ts';
import { Receipts } from './receipts.ts';
import type { TodaysTerms } from './todays-terms.ts';

/** For rankings, and for country profiles. */
const BUDGET_BYTES = 2 * 1024 * 1024;

const LATEST_SQL = readSql(import.meta.url, 'sql/latest-of-country.sql');
const LATEST_TYPES = { files: LIST(VARCHAR), iso3: VARCHAR };
const LATEST_COLUMNS = ['indicator', 'year', 'value', 'rank', 'rank_delta_1y'];

export class ClosedEdition implements Edition {
  readonly id: string;
  readonly generatedAt: string;
  readonly countries: readonly CountryItem[];
  readonly countriesByCode: ReadonlyMap<string, CountryRecord>;
  readonly observations: Observations;
  readonly rankings: ByteCache<RankingDocument>;
  readonly #files: SnapshotFiles;
  readonly #shared: SharedParts;
  readonly #today: TodaysTerms;
  /** Whether all its countries are shown today. */
  readonly #showsAll: boolean;
  readonly #added: AddedLists;
  readonly #receipts: Receipts;
  readonly #derivations: Derivations;
  readonly #profiles: ByteCache<CountryProfile>;
  readonly #catalogue = once(() => this.#readCatalogue());
  readonly #latestNames = once(() => this.#files.namesIn(LATEST_FOLDER));

  private constructor(
    files: SnapshotFiles,
    countries: readonly CountryRecord[],
    shared: SharedParts,
    today: TodaysTerms,
  ) {
    this.id = files.manifest.id;
    this.generatedAt = files.manifest.generated_at;
    const shown = countries.filter(({ iso3 }) => today.hasCountry(iso3));
    this.countries = shown.map((record) => ({ record, json: JSON.stringify(record) }));
    this.countriesByCode = new Map(shown.map((record) => [record.iso3, record]));
    this.#showsAll = shown.length === countries.length;
    const codes = this.#showsAll ? null : [...this.countriesByCode.keys()].sort();
    this.observations = new Observations(files, shared.observations, codes, (id) => this.#heldAs(id));
    this.rankings = new ByteCache(BUDGET_BYTES / shared.processCount, ({ json }) => json.byteLength);
    this.#files = files;
    this.#shared = shared;
    this.#today = today;
    this.#added = new AddedLists(files);
    this.#receipts = new Receipts(files, shared);
    this.#derivations = new Derivations(files, shared, this.#receipts);
    this.#profiles = new ByteCache(BUDGET_BYTES / shared.processCount, ({ bytes }) => bytes);
  }

  /** Reads the manifest and the countries. @throws {SnapshotDamaged} {SnapshotUnreadable} */
  static async open(entry: LogEntry, shared: SharedParts, today: TodaysTerms): Promise<ClosedEdition> {
    const manifest = await readManifest(shared.directory, entry.edition, entry.manifest);
    const files = new SnapshotFiles(manifest, shared);
    const countries = (await files.json<CountryRecord[]>(COUNTRIES)) ?? [];
    return new ClosedEdition(files, countries, shared, today);
  }

  get editions(): Editions {
    return this.#today.served.editions;
  }

  resolve(id: string): ResolvedId {
    return this.#today.served.resolve(id);
  }

  async indicator(id: string): Promise<CatalogueEntry | undefined> {
    const own = await this.#heldAs(id);
    const entry = (await catalogueEntries(this.#files, providerOf(own))).get(own);
    return entry && this.#today.govern(entry);
  }

  /** The id that an indicator had, by its id of today. */
  #heldAs(id: string): string | Promise<string> {
    const names = this.#today.aliases.names(id);
    return names.length === 1 ? id : this.#firstHeld(names);
  }

  async #firstHeld(names: readonly string[]): Promise<string> {
    for (const name of names)
      if ((await catalogueEntries(this.#files, providerOf(name))).has(name)) return name;
    return names[0] ?? '';
  }

  wholeCatalogue(): Promise<Catalogue> {
    return this.#catalogue();
  }

  async indicatorBody(id: string): Promise<Buffer> {
    const entry = await this.indicator(id);
    if (entry === undefined) throw new Error(`the edition has no ${id}`);
    const { licence, attribution } = entry.record;
    const meta = { generated_at: this.generatedAt, licence, attribution };
    return body({ ...entry.record, related: await this.#related(id) }, meta);
  }

  async countryBody(iso3: string): Promise<Buffer> {
    const topics = await this.#topicsOf(iso3);
    const counts = Object.entries(topics).map(([slug, items]) => [slug, items.length] as const);
    const count = counts.reduce((sum, [, items]) => sum + items, 0);
    const meta = { generated_at: this.generatedAt, count, topic_counts: Object.fromEntries(counts) };
    return body({ ...this.countriesByCode.get(iso3), topics }, meta);
  }

  async receipt(id: string, iso3: string, year: number, notice: Notice): Promise<Receipt> {
    return this.#receipts.make({ indicator: await this.#heldAs(id), iso3, year }, notice);
  }

  async derivation(recipe: Recipe): Promise<Derivation | null> {
    const transform = recipe.transform.map(async (word) =>
      word.startsWith('per:') ? `per:${await this.#heldAs(word.slice('per:'.length))}` : word,
    );
    const indicator = await this.#heldAs(recipe.indicator);
    return this.#derivations.derive({ ...recipe, indicator, transform: await Promise.all(transform) });
  }

  countryProfile(iso3: string): CountryProfile | Promise<CountryProfile> {
    return this.#profiles.getOrMake(iso3, async () => parseProfile(await this.countryBody(iso3)));
  }

  async sparklines(): Promise<Readonly<Record<string, Sparkline>>> {
    return {};
  }

  async excerpt(): Promise<null> {
    return null;
  }

  async indicatorsOf(provider: string): Promise<readonly IndicatorRecord[]> {
    const governed = await this.#governed(provider);
    return governed.flatMap(({ now }) => (now === undefined ? [] : [now.record]));
  }

  async wholeFile(id: string): Promise<StoredFile | null> {
    const file = await observationsOf(this.#files, await this.#heldAs(id));
    const isWhole = this.#showsAll || (await this.observations.select(id, {})).count === file.rows;
    return isWhole ? file : null;
  }

  async bundle(provider: string): Promise<StoredFile | null> {
    const governed = await this.#governed(provider);
    const isOpen = (entry: CatalogueEntry | undefined): boolean => entry?.record.access_tier === 'open';
    const isNarrower = governed.some(({ then, now }) => isOpen(then) && !isOpen(now));
    if (isNarrower || !this.#showsAll) return null;
    const entries = governed.map(({ then }) => then);
    return bundleOf(this.#files, provider, entries);
  }

  /** The indicators of a provider as they were, and under today's terms; undefined for what is not shown. */
  async #governed(provider: string): Promise<{ then: CatalogueEntry; now: CatalogueEntry | undefined }[]> {
    const entries = await catalogueEntries(this.#files, provider);
    return Promise.all(
      [...entries.values()].map(async (then) => ({ then, now: await this.#today.govern(then) })),
    );
  }

  async groups(): Promise<EditionGroups | null> {
    return (await this.#files.json<EditionGroups>(GROUPS)) ?? null;
  }

  async groupFigures(id: string): Promise<StoredGroups | null> {
    const isShown = (iso3: string): boolean => this.countriesByCode.has(iso3);
    return readGroupFigures(this.#files, await this.#heldAs(id), this.#showsAll ? null : isShown);
  }

  async additions(words: readonly AdditionWord[], ids: readonly string[]): Promise<LoadedLists> {
    const held = new Map(await Promise.all(ids.map(async (id) => [id, await this.#heldAs(id)] as const)));
    const lists = await this.#added.load(words, [...held.values()]);
    const own: LoadedLists = { json: (word, id) => lists.json(word, held.get(id) ?? id) };
    return governedLists(own, words, ids, this.#today);
  }

  async #readCatalogue(): Promise<Catalogue> {
    const providers = Object.keys(this.#files.manifest.providers);
    const all = await Promise.all(providers.map((provider) => catalogueEntries(this.#files, provider)));
    const governed: CatalogueEntry[] = [];
    for (const entry of all.flatMap((entries) => [...entries.values()])) {
      const shown = await this.#today.govern(entry);
      if (shown !== undefined) governed.push(shown);
    }
    const countries = this.countries.map(({ record }) => record);
    return new Catalogue(this.generatedAt, countries, governed);
  }

  /** Those that may be published today. */
  async #related(id: string): Promise<RelatedEntry[]> {
    const own = await this.#heldAs(id);
    const relations = await this.#files.json<Record<string, RelatedEntry[]>>(relationsFile(providerOf(own)));
    const shown: RelatedEntry[] = [];
    for (const entry of relations?.[own] ?? [])
      if ((await this.#today.of(entry.id)) !== undefined)
        shown.push({ ...entry, id: this.#today.idOf(entry.id) });
    return shown;
  }

  /** The latest values of a country: topics in curated order, items by curated order in the topic, then by name. */
  async #topicsOf(iso3: string): Promise<Record<string, TopicItem[]>> {
    const catalogue = await this.wholeCatalogue();
    const items = (await this.#latestOf(iso3)).flatMap((row) => {
      const entry = catalogue.indicators.get(this.#today.idOf(row.indicator));
      return entry === undefined ? [] : [{ row, entry }];
    });
    items.sort(
      (a, b) => a.entry.topicOrder - b.entry.topicOrder || compareByName(a.entry.record, b.entry.record),
    );
    const byTopic = Map.groupBy(items, ({ entry }) => entry.record.topic);
    const topics = (await this.#files.json<TopicRecord[]>(TOPICS)) ?? [];
    return Object.fromEntries(
      topics.flatMap(({ slug }) => {
        const own = byTopic.get(slug);
        return own ? [[slug, own.map(({ row, entry }) => topicItem(row, entry))]] : [];
      }),
    );
  }

  async #latestOf(iso3: string): Promise<LatestRow[]> {
    const names = await this.#latestNames();
    if (names.length === 0) return [];
    const chunks = await this.#files.use(names, (paths) =>
      this.#shared.queries.run(LATEST_SQL, { files: listValue(paths), iso3 }, LATEST_TYPES),
    );
    return chunks.flatMap((chunk) => chunk.getRowObjects(LATEST_COLUMNS) as unknown as LatestRow[]);
  }
}

type LatestRow = Omit<TopicItem, 'name' | 'unit' | 'featured'>;

const topicItem = (
  { year, value, rank, rank_delta_1y }: LatestRow,
  { record: { id, name, unit, featured } }: CatalogueEntry,
): TopicItem => ({ indicator: id, name, unit, year, value, rank, rank_delta_1y, featured });

const body = (data: unknown, meta: unknown): Buffer => Buffer.from(JSON.stringify({ data, meta }));
