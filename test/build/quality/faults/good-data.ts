/** The published series of a lake before any fault: labels, figures on demand, and which series are twins. */
import { join } from 'node:path';
import {
  type PlannedIndicator,
  planSnapshot,
  type SnapshotPlan,
} from '../../../../build/editions/plan/plan-snapshot.ts';
import { ProviderLake } from '../../../../build/lake/provider-lake.ts';
import { DuckSession } from '../../../../build/runtime/duckdb.ts';
import { type Curated, loadCurated } from '../../../../data/curated/curated.ts';
import type { IndicatorOverlay } from '../../../../data/schema/curated.ts';
import type { CatalogueEntry } from '../../../../data/schema/lake.ts';
import type { Figure } from './figures.ts';

export interface GoodSeries {
  id: string;
  providerId: string;
  slug: string;
  record: PlannedIndicator['record'];
  /** First projected year by definition or overlay; above every year when there is none. */
  projectedFrom: number;
  entry: CatalogueEntry;
  /** What `data/` sets of it. */
  overlay: IndicatorOverlay;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
export interface GoodDataOptions {
  lakeDir: string;
  curatedDir: string;
  /** Pairs of one concept. */
  twins: readonly (readonly [string, string])[];
  currentYear: number;
  scratch: string;
}

const textOr = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const booleanOr = (value: unknown): boolean | null => (typeof value === 'boolean' ? value : null);
const numberOr = (value: unknown): number | null => (typeof value === 'number' ? value : null);

export class GoodData {
  readonly lakeDir: string;
  readonly curated: Curated;
  readonly series: ReadonlyMap<string, GoodSeries>;
  readonly currentYear: number;
  readonly #twins = new Map<string, Set<string>>();
  readonly #files: ReadonlyMap<string, string>;
  readonly #duck: DuckSession;

  private constructor(
    lakeDir: string,
    curated: Curated,
    plan: SnapshotPlan,
    entries: ReadonlyMap<string, CatalogueEntry>,
    duck: DuckSession,
    currentYear: number,
  ) {
    this.lakeDir = lakeDir;
    this.curated = curated;
    this.currentYear = currentYear;
    this.#duck = duck;
    this.#files = new Map(plan.indicators.map(({ id, lake }) => [id, lake]));
    const series = plan.indicators.flatMap(
      ({ id, slug, providerId, record, projectedFrom }): GoodSeries[] => {
        const entry = entries.get(id);
        if (!entry) return [];
        return [
          { id, providerId, slug, record, projectedFrom, entry, overlay: curated.overlay(providerId, entry) },
        ];
      },
    );
    this.series = new Map(series.sort((a, b) => (a.id < b.id ? -1 : 1)).map((one) => [one.id, one]));
  }

  static async open({
    lakeDir,
    curatedDir,
    twins,
    currentYear,
    scratch,
  }: GoodDataOptions): Promise<GoodData> {
    const curated = await loadCurated(curatedDir);
    const plan = await planSnapshot(lakeDir, curated, new Map(), currentYear);
    const entries = new Map<string, CatalogueEntry>();
    for (const id of curated.providers.keys()) {
      const lake = new ProviderLake(lakeDir, id);
      const run = await lake.current();
      const catalogue = run ? await lake.catalogue(run) : [];
      for (const entry of catalogue) entries.set(`${id}.${entry.slug}`, entry);
    }
    const duck = await DuckSession.open({ scratch: join(scratch, 'figures'), memoryMb: 512 });
    const data = new GoodData(lakeDir, curated, plan, entries, duck, currentYear);
    for (const [a, b] of twins) {
      data.#addTwin(a, b);
      data.#addTwin(b, a);
    }
    return data;
  }

  #addTwin(a: string, b: string): void {
    if (!this.series.has(a) || !this.series.has(b)) return;
    this.#twins.set(a, (this.#twins.get(a) ?? new Set()).add(b));
  }

  get(id: string): GoodSeries {
    const series = this.series.get(id);
    if (!series) throw new RangeError(`${id} is not published`);
    return series;
  }

  twinsOf(id: string): GoodSeries[] {
    return [...(this.#twins.get(id) ?? [])].sort().map((twin) => this.get(twin));
  }

  /** Figures by country and year. */
  async figures(id: string): Promise<Figure[]> {
    const file = this.#files.get(id);
    if (file === undefined) throw new RangeError(`${id} is not published`);
    const figures: Figure[] = [];
    await this.#duck.eachChunk(
      `SELECT iso3, year, value, ci_lo, ci_hi, projected, status FROM read_parquet(${quoted(file)})
       WHERE indicator = ${quoted(this.get(id).slug)} ORDER BY iso3, year`,
      ([iso3, year, value, ciLo, ciHi, projected, status], rows) => {
        for (let row = 0; row < rows; row += 1)
          figures.push({
            iso3: String(iso3?.[row]),
            year: Number(year?.[row]),
            value: numberOr(value?.[row]),
            ciLo: numberOr(ciLo?.[row]),
            ciHi: numberOr(ciHi?.[row]),
            projected: booleanOr(projected?.[row]),
            status: textOr(status?.[row]),
          });
      },
    );
    return figures;
  }

  async close(): Promise<void> {
    await this.#duck.close();
  }
}
