/** Constructed series as the checks see them: published files, their statistics, and the build's tables. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DOUBLE, INTEGER, listValue, VARCHAR } from '@duckdb/node-api';
import type { PlannedIndicator } from '../../../build/editions/plan/plan-snapshot.ts';
import { prepareTables } from '../../../build/editions/tables/materialise.ts';
import { loadCountrySeries } from '../../../build/editions/tables/summary-tables.ts';
import type { CheckContext, CheckedSeries, QualityCheck } from '../../../build/quality/check.ts';
import { collectStatistics } from '../../../build/quality/series-statistics.ts';
import { DuckSession } from '../../../build/runtime/duckdb.ts';
import { loadCurated } from '../../../data/curated/curated.ts';
import type { FoundDoubt, QualityFinding } from '../../../data/schema/quality.ts';
import type { ConceptLink } from '../../../data/schema/snapshot.ts';
import { DATA } from '../world.ts';

export type Figure = [iso3: string, year: number, value: number | null];
export interface ConstructedSeries {
  name?: string;
  unit?: string;
  preferred?: boolean;
  featured?: boolean;
  /** First projected year. */
  projectedFrom?: number;
  figures: readonly Figure[];
}
export type Constructed = Record<string, ConstructedSeries>;

export const CURRENT_YEAR = 2026;
/** Enough countries for distributions. */
export const COUNTRIES =
  `AGO ARG AUS AUT BEL BFA BGD BOL BRA CAN CHE CHL CHN CIV CMR COL CUB CZE DEU DNK EGY ESP ETH FIN
  FRA GBR GHA GRC IND IDN ITA JPN KEN MEX NGA NOR PAK PER POL SWE`.split(/\s+/);

const curated = await loadCurated(DATA);

/** Uniform numbers in [0, 1), the same for one seed. */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Figures that grow or shrink by a few per cent a year, differently by country: a plausible series. */
export function plausible(seed: number, level: number, noise = 0.02): Figure[] {
  const draw = random(seed);
  return COUNTRIES.flatMap((iso3) => {
    let value = level * (0.4 + 1.2 * draw());
    const trend = (draw() - 0.5) * 0.03;
    return Array.from({ length: 41 }, (_, at): Figure => {
      value *= 1 + trend + noise * (draw() - 0.5);
      return [iso3, 1985 + at, value];
    });
  });
}

function plannedOf(id: string, number: number, series: ConstructedSeries): PlannedIndicator {
  const [providerId = '', slug = ''] = id.split('.');
  const credit = { licence: 'CC0', licence_url: null, attribution: 'us' };
  const record = {
    id,
    name: series.name ?? slug,
    description: null,
    unit: series.unit ?? null,
    topic: 'economy',
    higher_is_better: null,
    preferred: series.preferred ?? false,
    featured: series.featured ?? false,
    access_tier: 'open' as const,
    no_rank: false,
    ...credit,
    provider: { id: providerId, name: providerId, ...credit },
  };
  const rest = {
    original: null,
    topicOrder: 0,
    sources: [],
    ciLevel: null,
    upstream: {
      ...{ slug, name: record.name, unit: record.unit, description: null },
      ...{ source: null, source_url: null, tags: [], licence: null },
    },
    projectedFrom: 9999,
    flaggedByClock: [],
    files: [],
    lake: '',
    lakeRows: series.figures.length,
  };
  return { id, number, slug, providerId, record, inputs: '', ...rest };
}

const asKnown = (doubt: FoundDoubt): QualityFinding => ({
  ...doubt,
  id: '0'.repeat(16),
  severity: 'error',
  first_seen: '2026-11-20T12:00:00+00:00',
  change: null,
  decision: null,
  reason: null,
  lapsed: null,
});

/** A snapshot of constructed series in a temporary directory. */
export class Constructions {
  readonly #duck: DuckSession;
  readonly #directory: string;

  private constructor(duck: DuckSession, directory: string) {
    this.#duck = duck;
    this.#directory = directory;
  }

  static async open(): Promise<Constructions> {
    const directory = await mkdtemp(join(tmpdir(), 'almanac-quality-'));
    return new Constructions(await DuckSession.open({ scratch: join(directory, 'scratch') }), directory);
  }

  async close(): Promise<void> {
    await this.#duck.close();
    await rm(this.#directory, { recursive: true, force: true });
  }

  /** Writes the files of a night, and returns what the checks get of its series. */
  async #write(night: string, constructed: Constructed): Promise<Map<string, CheckedSeries>> {
    const directory = join(this.#directory, night);
    const planned = Object.entries(constructed).map(([id, series], at) => plannedOf(id, at, series));
    for (const name of ['enabled', 'planned', 'catalogue', 'country_series'])
      await this.#duck.run(`DROP TABLE IF EXISTS ${name}`);
    await prepareTables(this.#duck, COUNTRIES, planned);
    await mkdir(join(directory, 'observations'), { recursive: true });
    for (const [id, series] of Object.entries(constructed)) await this.#writeFile(directory, id, series);
    await loadCountrySeries(this.#duck, directory, planned);
    const statistics = await collectStatistics(this.#duck, directory, planned, new Map());
    return new Map(
      planned.flatMap((one) => {
        const own = statistics.get(one.id);
        return own
          ? [[one.id, { planned: one, record: { ...one.record, coverage: null }, statistics: own }] as const]
          : [];
      }),
    );
  }

  async #writeFile(
    directory: string,
    id: string,
    { figures, projectedFrom = 9999 }: ConstructedSeries,
  ): Promise<void> {
    await this.#duck.run('CREATE OR REPLACE TABLE written (iso3 VARCHAR, year INTEGER, value DOUBLE)');
    await this.#duck.fill('written', [
      { type: VARCHAR, values: figures.map(([iso3]) => iso3) },
      { type: INTEGER, values: figures.map(([, year]) => year) },
      { type: DOUBLE, values: figures.map(([, , value]) => value) },
    ]);
    await this.#duck.run(`COPY (
      SELECT *, NULL::DOUBLE AS ci_lo, NULL::DOUBLE AS ci_hi, NULL::INTEGER AS rank, NULL::INTEGER AS rank_delta_1y,
        year >= ${projectedFrom} AS projected, NULL::VARCHAR AS status
      FROM written ORDER BY iso3, year
    ) TO '${directory}/observations/${id}.parquet' (FORMAT parquet)`);
    await this.#duck.run('DROP TABLE written');
  }

  /** Runs a check on the series of a night, and of the night before. */
  async find(
    check: QualityCheck,
    constructed: Constructed,
    {
      before,
      twins = [],
      known = [],
    }: { before?: Constructed; twins?: [string, string][]; known?: FoundDoubt[] } = {},
  ): Promise<FoundDoubt[]> {
    const old = before ? await this.#write('before', before) : new Map<string, CheckedSeries>();
    const series = await this.#write('now', constructed);
    const filesIn = (night: string) => (ids: readonly string[]) =>
      listValue(ids.map((id) => join(this.#directory, night, 'observations', `${id}.parquet`)));
    const link = ([a, b]: [string, string]): ConceptLink => ({
      a,
      b,
      common: 0,
      rho: null,
      median_difference: null,
    });
    const context: CheckContext = {
      duck: this.#duck,
      files: filesIn('now'),
      filesBefore: filesIn('before'),
      series,
      before: old,
      coverage: '',
      coverageBefore: null,
      withheld: new Set(),
      departed: new Set(),
      firstDate: null,
      known: known.map(asKnown),
      providers: [],
      concepts: twins.map(link),
      curated,
      currentYear: CURRENT_YEAR,
    };
    return check.find(context);
  }
}
