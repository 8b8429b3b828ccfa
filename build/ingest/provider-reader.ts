/**
 * Reads a connector's items into the lake, series by series. A series that fails (upstream error, conflicting values,
 * invalid id) does not affect the others.
 */
import type { Logger } from 'pino';
import type { Curated } from '../../data/curated/curated.ts';
import type { ProviderDefinition } from '../../data/schema/curated.ts';
import type { RunProgress } from '../../data/schema/jobs.ts';
import type { CatalogueEntry, RunRecord, UpstreamAggregates } from '../../data/schema/lake.ts';
import { INDICATOR_ID } from '../../data/schema/records.ts';
import { laterEdition, type SourceItem } from '../connectors/connector.ts';
import { factsOf, type LakeWriter, newestYearOf, projectionRuleOf, type SeriesFile } from '../lake/lake.ts';
import { placeFinder, Rejects, UntrustedSeriesError } from './cells.ts';
import { SeriesBuffer } from './series-buffer.ts';

export interface FailedSeries {
  reason: string;
  /** Rows lost with it, without those counted as rejected. */
  rows: number;
}

export interface ReaderOptions {
  definition: ProviderDefinition;
  curated: Pick<Curated, 'places' | 'overlay'>;
  writer: Pick<LakeWriter, 'add'>;
  /** Years after it have not begun. */
  currentYear: number;
  log: Logger;
  onProgress: (progress: Pick<RunProgress, 'done' | 'total' | 'rows'>) => void;
}

export class ProviderReader {
  readonly catalogue: CatalogueEntry[] = [];
  readonly series: SeriesFile = {};
  readonly aggregates: UpstreamAggregates = {};
  /** References of the upstream files that each kept series comes from. */
  readonly files = new Map<string, ReadonlySet<string>>();
  readonly failed = new Map<string, FailedSeries>();
  /** Series that lack rows which their bounds rejected. */
  readonly outOfBounds: NonNullable<RunRecord['out_of_bounds']> = [];
  readonly unreadable: NonNullable<RunRecord['unreadable']> = [];
  readonly rejects = new Rejects();
  vintage: string | null = null;
  /** Rows kept. */
  rows = 0;
  /** Rows from the connector: kept, rejected, dropped as empty cells, or lost with a failed series. */
  rowsRead = 0;
  readonly #options: ReaderOptions;
  readonly #buffer: SeriesBuffer;
  readonly #announced = new Set<string>();
  /** The series being read. */
  #open: CatalogueEntry | null = null;
  /** References of the files that its rows come from. */
  #openFiles = new Set<string>();
  /** Row counts when the open series began. */
  #atStart = { read: 0, rejected: 0 };
  #planned: number | null = null;

  constructor(options: ReaderOptions) {
    const { places, aggregates } = options.definition;
    this.#options = options;
    this.#buffer = new SeriesBuffer(placeFinder(options.curated.places, places), this.rejects, aggregates);
  }

  /** Empty cells of wide tables that were dropped. */
  get emptyCells(): number {
    return this.#buffer.emptyCells;
  }

  /** Newest observed year over all series. */
  get newestYear(): number | null {
    return newestYearOf(this.series, this.#options.currentYear);
  }

  /** @throws {Error} when the connector violates its contract; also rethrows the connector's errors. */
  async readAll(items: AsyncIterable<SourceItem>): Promise<void> {
    for await (const item of items) this.#take(item);
    this.#finishSeries();
  }

  #take(item: SourceItem): void {
    if (item.kind === 'vintage') this.vintage = laterEdition(this.vintage, item.vintage);
    else if (item.kind === 'plan') this.#planned = item.indicators;
    else if (item.kind === 'failed') this.#fail(item.slug, item.reason);
    else if (item.kind === 'indicator') this.#startSeries(item.entry);
    else this.#addRows(item);
    if (item.kind !== 'observations') this.#report();
  }

  #fail(slug: string, reason: string): void {
    const isOpen = this.#open?.slug === slug;
    if (isOpen) this.#open = null;
    if (this.series[slug]) return;
    this.failed.set(slug, { reason, rows: isOpen ? this.#rowsOfOpen() : (this.failed.get(slug)?.rows ?? 0) });
    this.#options.log.warn({ slug, reason }, 'indicator failed');
  }

  /** Rows of the open series without rejected ones. */
  #rowsOfOpen(): number {
    const { read, rejected } = this.#atStart;
    return this.rowsRead - read - (this.rejects.rows - rejected);
  }

  #startSeries(entry: CatalogueEntry): void {
    this.#finishSeries();
    if (this.#announced.has(entry.slug)) throw new Error(`the connector announced ${entry.slug} twice`);
    this.#announced.add(entry.slug);
    if (!INDICATOR_ID.test(`${this.#options.definition.id}.${entry.slug}`)) {
      this.#fail(entry.slug, 'its slug is not valid in an indicator id');
      return;
    }
    const { curated, definition, currentYear } = this.#options;
    const overlay = curated.overlay(definition.id, entry);
    const isObserved = projectionRuleOf(definition, overlay).future_years === 'observed';
    const observedTo = isObserved ? undefined : currentYear;
    this.#buffer.start({ min: overlay.min, max: overlay.max, observedTo });
    this.#open = entry;
    this.#openFiles = new Set();
    this.#atStart = { read: this.rowsRead, rejected: this.rejects.rows };
  }

  #addRows(item: Extract<SourceItem, { kind: 'observations' }>): void {
    const failed = this.failed.get(item.slug);
    this.rowsRead += item.rows.length;
    if (failed) {
      failed.rows += item.rows.length;
      return;
    }
    if (this.#open?.slug !== item.slug)
      throw new Error(`the connector sent rows of ${item.slug} out of order`);
    if (item.files.length === 0)
      throw new Error(`the connector does not say which files ${item.slug} comes from`);
    for (const reference of item.files) this.#openFiles.add(reference);
    this.#buffer.add(item.rows);
  }

  #finishSeries(): void {
    const entry = this.#open;
    if (!entry) return;
    try {
      this.#keep(entry);
    } catch (error) {
      if (!(error instanceof UntrustedSeriesError)) throw error;
      this.#fail(entry.slug, error.message);
    }
    this.#open = null;
  }

  #keep(entry: CatalogueEntry): void {
    const { definition, curated, writer, currentYear } = this.#options;
    const rows = this.#buffer.finish();
    const rule = projectionRuleOf(definition, curated.overlay(definition.id, entry));
    const { outOfBounds, unreadable } = this.#buffer;
    if (outOfBounds) this.outOfBounds.push({ slug: entry.slug, ...outOfBounds });
    if (unreadable) this.unreadable.push({ slug: entry.slug, ...unreadable });
    writer.add(entry.slug, rows);
    if (Object.keys(this.#buffer.aggregates).length > 0)
      this.aggregates[entry.slug] = this.#buffer.aggregates;
    this.catalogue.push(entry);
    this.files.set(entry.slug, this.#openFiles);
    this.series[entry.slug] = factsOf(rows, entry.unit, rule, currentYear);
    this.rows += rows.length;
  }

  #report(): void {
    const done = this.catalogue.length + this.failed.size;
    this.#options.onProgress({ done, total: this.#planned, rows: this.rows });
  }
}
