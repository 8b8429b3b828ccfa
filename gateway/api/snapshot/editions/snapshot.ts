/** The served snapshot: catalogue and lists in memory, prerendered bodies, observations on demand. */
import type { Recipe } from '../../../../data/derived/recompute.ts';
import type { Notice, Receipt } from '../../../../data/proofs/receipt.ts';
import type { IndicatorAlias } from '../../../../data/schema/curated.ts';
import { type EditionGroups, GROUPS, type StoredGroups } from '../../../../data/schema/groups.ts';
import type { CountryRecord, IndicatorRecord } from '../../../../data/schema/records.ts';
import {
  type AdditionWord,
  ALIASES,
  COUNTRIES,
  countryFile,
  indicatorFile,
  type LogEntry,
  type Manifest,
  SPARKLINES,
  type Sparkline,
  type Sparklines,
} from '../../../../data/schema/snapshot.ts';
import { readManifest } from '../files/manifest.ts';
import { ByteCache, once } from '../files/memory.ts';
import { RouteFiles } from '../files/route-files.ts';
import { catalogueEntries, type SharedParts } from '../files/shared-parts.ts';
import { SnapshotFiles } from '../files/snapshot-files.ts';
import { bundleOf, observationsOf, type StoredFile } from '../files/whole-files.ts';
import { type Excerpt, readExcerpt } from '../rows/excerpt.ts';
import { readGroupFigures } from '../rows/group-figures.ts';
import { Observations } from '../rows/observations.ts';
import { AddedLists } from './added-lists.ts';
import { Catalogue, type CatalogueItem } from './catalogue.ts';
import { type Derivation, Derivations } from './derivations.ts';
import {
  type CountryProfile,
  type LoadedLists,
  parseProfile,
  type RankingDocument,
  type ResolvedId,
} from './edition.ts';
import { EditionStore } from './editions.ts';
import { Receipts } from './receipts.ts';
import { Aliases, type ServedEdition, sunsetOf } from './todays-terms.ts';

const RANKING_BUDGET_BYTES = 12 * 1024 * 1024;
const COUNTRY_BUDGET_BYTES = 8 * 1024 * 1024;

interface Parts {
  aliases: Aliases;
  catalogue: Catalogue;
  files: SnapshotFiles;
  routes: RouteFiles;
  shared: SharedParts;
  log: readonly LogEntry[];
}

export class Snapshot implements ServedEdition {
  readonly id: string;
  readonly manifest: Manifest;
  readonly catalogue: Catalogue;
  readonly files: SnapshotFiles;
  readonly routes: RouteFiles;
  readonly observations: Observations;
  readonly rankings: ByteCache<RankingDocument>;
  readonly aliases: Aliases;
  readonly editions: EditionStore;
  readonly #added: AddedLists;
  readonly #shared: SharedParts;
  readonly #receipts: Receipts;
  readonly #profiles: ByteCache<CountryProfile>;
  readonly #sparklines = once(() => this.files.json<Sparklines>(SPARKLINES));
  #wasMissing = false;
  #retired = false;

  private constructor({ aliases, catalogue, files, routes, shared, log }: Parts) {
    this.id = files.manifest.id;
    this.manifest = files.manifest;
    this.catalogue = catalogue;
    this.aliases = aliases;
    this.files = files;
    this.routes = routes;
    this.observations = new Observations(files, shared.observations);
    this.#added = new AddedLists(files);
    this.#shared = shared;
    this.#receipts = new Receipts(files, shared);
    this.#profiles = new ByteCache(COUNTRY_BUDGET_BYTES / shared.processCount, ({ bytes }) => bytes);
    this.rankings = new ByteCache(RANKING_BUDGET_BYTES / shared.processCount, ({ json }) => json.byteLength);
    this.editions = new EditionStore(this, shared, log);
  }

  /**
   * Opens a snapshot. Reads and verifies its lists of files, the catalogue and the bodies that stay in memory.
   * @throws {SnapshotDamaged} {SnapshotUnreadable}
   */
  static async open(id: string, shared: SharedParts, log: readonly LogEntry[]): Promise<Snapshot> {
    const entry = log.find(({ edition }) => edition === id);
    const files = new SnapshotFiles(await readManifest(shared.directory, id, entry?.manifest), shared);
    await Promise.all([files.loadLists(), files.loadPrerendered()]);
    const routes = await RouteFiles.open(files, shared.processCount);
    const catalogue = await readCatalogue(files);
    const aliases = new Aliases(await files.json<IndicatorAlias[]>(ALIASES));
    return new Snapshot({ aliases, catalogue, files, routes, shared, log });
  }

  get generatedAt(): string {
    return this.manifest.generated_at;
  }

  get countries() {
    return this.catalogue.countries;
  }

  get countriesByCode(): ReadonlyMap<string, CountryRecord> {
    return this.catalogue.countriesByCode;
  }

  /** Number and bytes of its files, kept and prerendered. */
  get size(): { files: number; bytes: number } {
    return this.files.size;
  }

  /** After its last day, an old id is unknown. */
  resolve(id: string): ResolvedId {
    const alias = this.aliases.byOld.get(id);
    if (alias === undefined || this.indicator(id) !== undefined) return { id, alias: null };
    const sunset = sunsetOf(alias);
    const isOver = sunset !== null && Date.parse(this.generatedAt) >= sunset;
    return isOver ? { id, alias: null } : { id: alias.new, alias };
  }

  indicator(id: string): CatalogueItem | undefined {
    return this.catalogue.indicators.get(id);
  }

  wholeCatalogue(): Catalogue {
    return this.catalogue;
  }

  body(file: string): Buffer | Promise<Buffer> {
    return this.routes.bytes(file, 'identity');
  }

  indicatorBody(id: string): Buffer | Promise<Buffer> {
    return this.body(indicatorFile(id));
  }

  countryBody(iso3: string): Buffer | Promise<Buffer> {
    return this.body(countryFile(iso3));
  }

  receipt(indicator: string, iso3: string, year: number, notice: Notice): Promise<Receipt> {
    return this.#receipts.make({ indicator, iso3, year }, notice);
  }

  derivation(recipe: Recipe): Promise<Derivation | null> {
    return new Derivations(this.files, this.#shared, this.#receipts).derive(recipe);
  }

  countryProfile(iso3: string): CountryProfile | Promise<CountryProfile> {
    return this.#profiles.getOrMake(iso3, async () => parseProfile(await this.countryBody(iso3)));
  }

  async sparklines(iso3: string): Promise<Readonly<Record<string, Sparkline>>> {
    return (await this.#sparklines())?.[iso3] ?? {};
  }

  excerpt(indicator: string): Promise<Excerpt | null> {
    return readExcerpt(this.files, indicator);
  }

  async indicatorsOf(provider: string): Promise<readonly IndicatorRecord[]> {
    return this.catalogue.listed('name', 'asc', { provider }).map(({ record }) => record);
  }

  wholeFile(id: string): Promise<StoredFile> {
    return observationsOf(this.files, id);
  }

  bundle(provider: string): Promise<StoredFile | null> {
    return bundleOf(this.files, provider, this.catalogue.listed('name', 'asc', { provider }));
  }

  async groups(): Promise<EditionGroups | null> {
    return (await this.files.json<EditionGroups>(GROUPS)) ?? null;
  }

  groupFigures(id: string): Promise<StoredGroups | null> {
    return readGroupFigures(this.files, id);
  }

  additions(words: readonly AdditionWord[], ids: readonly string[]): Promise<LoadedLists> {
    return this.#added.load(words, ids);
  }

  /** Why it cannot answer every call any more, as a sentence; null while it can. Looks for the files. */
  async fault(): Promise<string | null> {
    const isPresent = await this.files.isPresent();
    this.#wasMissing ||= !isPresent;
    if (!isPresent) return `The files of snapshot ${this.id} are missing.`;
    const { unreadable } = this.files;
    if (unreadable !== null) return `The file ${unreadable} of snapshot ${this.id} cannot be read.`;
    return this.#wasMissing ? `The files of snapshot ${this.id} were missing and are not checked yet.` : null;
  }

  /** Looks again at files that were missing or could not be read. */
  async recheck(): Promise<void> {
    if (!(await this.files.isPresent())) return;
    if (this.#wasMissing) await this.files.checkSizes();
    this.#wasMissing = false;
    await this.files.recheck();
  }

  /** Whether a newer snapshot has taken its place. */
  get isRetired(): boolean {
    return this.#retired;
  }

  /** No new request gets it. */
  retire(): void {
    this.#retired = true;
  }
}

async function readCatalogue(files: SnapshotFiles): Promise<Catalogue> {
  const countries = await files.json<CountryRecord[]>(COUNTRIES);
  const providers = Object.keys(files.manifest.providers);
  const entries = await Promise.all(providers.map((provider) => catalogueEntries(files, provider)));
  const indicators = entries.flatMap((own) => [...own.values()]);
  return new Catalogue(files.manifest.generated_at, countries ?? [], indicators);
}
