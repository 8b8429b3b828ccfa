/** Constructed series as the checks see them: labels and figures as a test gives them, in published files with statistics. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BOOLEAN, DOUBLE, INTEGER, listValue, VARCHAR } from '@duckdb/node-api';
import type { PlannedIndicator } from '../../../build/editions/plan/plan-snapshot.ts';
import { prepareTables } from '../../../build/editions/tables/materialise.ts';
import { collectStatistics } from '../../../build/editions/tables/series-statistics.ts';
import { loadCountrySeries } from '../../../build/editions/tables/summary-tables.ts';
import type { CheckContext, CheckedSeries, QualityCheck } from '../../../build/quality/check.ts';
import { DuckSession } from '../../../build/runtime/duckdb.ts';
import { loadCurated } from '../../../data/curated/curated.ts';
import type { FoundDoubt, QualityFinding, SeriesStatistics } from '../../../data/schema/quality.ts';
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import type { ConceptLink } from '../../../data/schema/snapshot.ts';
import { DATA } from '../world.ts';

export type Figure = [iso3: string, year: number, value: number | null, projected?: boolean];
export interface ConstructedSeries extends Partial<Omit<IndicatorRecord, 'id' | 'provider' | 'coverage'>> {
  /** First projected year of figures that do not say it. */
  projectedFrom?: number;
  figures?: readonly Figure[];
  /** What upstream says where it differs. */
  upstream?: { name?: string; unit?: string | null; description?: string | null };
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

/** Changes the values of some figures. */
export const changed = (
  figures: readonly Figure[],
  isChosen: (iso3: string, year: number) => boolean,
  change: (value: number) => number,
): Figure[] =>
  figures.map(([iso3, year, value]) => [
    iso3,
    year,
    value !== null && isChosen(iso3, year) ? change(value) : value,
  ]);
export const allChanged = (figures: readonly Figure[], change: (value: number) => number): Figure[] =>
  changed(figures, () => true, change);
export const times = (factor: number) => (value: number) => value * factor;

/** The statistics of a series without figures. */
const EMPTY: SeriesStatistics = {
  rows: 0,
  values: 0,
  nulls: 0,
  projected: 0,
  countries: 0,
  negative: 0,
  zero: 0,
  above_1: 0,
  above_100: 0,
  extreme: 0,
  min: null,
  q1: null,
  median: null,
  q3: null,
  max: null,
  whole_share: null,
  jump: null,
  first_year: null,
  last_year: null,
  latest_year: null,
  latest_countries: 0,
  newest_projected_year: null,
  statuses: {},
  digest: '',
  anomalies: [],
};

function plannedOf(id: string, number: number, constructed: ConstructedSeries): PlannedIndicator {
  const { figures = [], projectedFrom: _, upstream, ...label } = constructed;
  const dot = id.indexOf('.');
  const [providerId, slug] = [id.slice(0, dot), id.slice(dot + 1)];
  const credit = { licence: 'CC0', licence_url: null, attribution: 'us' };
  const record: PlannedIndicator['record'] = {
    id,
    name: id,
    description: null,
    unit: null,
    topic: 'economy',
    higher_is_better: null,
    preferred: false,
    featured: false,
    access_tier: 'open',
    no_rank: false,
    ...credit,
    provider: { id: providerId, name: providerId, ...credit },
    ...label,
  };
  const { name, description, unit } = record;
  return {
    id,
    number,
    slug,
    providerId,
    record,
    inputs: '',
    original: null,
    topicOrder: 0,
    sources: [],
    ciLevel: null,
    projectedFrom: 9999,
    flaggedByClock: [],
    files: [],
    aggregates: {},
    lake: '',
    lakeRows: figures.length,
    upstream: {
      slug,
      name,
      description,
      unit,
      source: null,
      source_url: null,
      tags: [],
      licence: null,
      ...upstream,
    },
  };
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
    for (const name of ['enabled', 'planned', 'catalogue', 'country_series', 'opening_years'])
      await this.#duck.run(`DROP TABLE IF EXISTS ${name}`);
    await prepareTables(this.#duck, COUNTRIES, planned);
    await mkdir(join(directory, 'observations'), { recursive: true });
    for (const [id, series] of Object.entries(constructed)) await this.#writeFile(directory, id, series);
    await loadCountrySeries(this.#duck, directory, planned);
    const { statistics } = await collectStatistics(this.#duck, directory, planned, new Map());
    return new Map(
      planned.map((one) => {
        const record = { ...one.record, coverage: null };
        return [one.id, { planned: one, record, statistics: statistics.get(one.id) ?? EMPTY }] as const;
      }),
    );
  }

  async #writeFile(
    directory: string,
    id: string,
    { figures = [], projectedFrom = 9999 }: ConstructedSeries,
  ): Promise<void> {
    await this.#duck.run(
      'CREATE OR REPLACE TABLE written (iso3 VARCHAR, year INTEGER, value DOUBLE, projected BOOLEAN)',
    );
    const rows = figures.map(([iso3, year, value, projected = year >= projectedFrom]) => [
      ...[iso3, year, value, projected],
    ]);
    await this.#duck.fill('written', [VARCHAR, INTEGER, DOUBLE, BOOLEAN], rows);
    await this.#duck.run(`COPY (
      SELECT *, NULL::DOUBLE AS ci_lo, NULL::DOUBLE AS ci_hi, NULL::INTEGER AS rank, NULL::INTEGER AS rank_delta_1y,
        NULL::VARCHAR AS status
      FROM written ORDER BY iso3, year
    ) TO '${directory}/observations/${id}.parquet' (FORMAT parquet)`);
    await this.#duck.run('DROP TABLE written');
  }

  /** Runs a check on the series of a night, and of the night before. */
  async find(
    check: QualityCheck,
    constructed: Constructed,
    { before = {}, twins = [], known = [], ...more }: Given = {},
  ): Promise<FoundDoubt[]> {
    const old = await this.#write('before', before);
    const series = await this.#write('now', constructed);
    const filesIn = (night: string) => (ids: readonly string[]) =>
      listValue(ids.map((id) => join(this.#directory, night, 'observations', `${id}.parquet`)));
    const link = ([a, b]: readonly [string, string]): ConceptLink => ({
      a,
      b,
      common: 40,
      rho: 1,
      median_difference: 0,
    });
    const context: CheckContext = {
      duck: this.#duck,
      files: filesIn('now'),
      filesBefore: filesIn('before'),
      series,
      published: series,
      unchecked: new Map(),
      before: old,
      coverage: '',
      coverageBefore: null,
      departed: new Set(),
      firstDate: null,
      withheld: new Set(),
      known: known.map(asKnown),
      measured: new Map(),
      deviations: new Map(),
      providers: [],
      concepts: twins.map(link),
      curated,
      currentYear: CURRENT_YEAR,
      ...more,
    };
    return check.find(context);
  }
}

export interface Given extends Partial<Pick<CheckContext, 'curated' | 'withheld'>> {
  before?: Constructed;
  twins?: readonly (readonly [string, string])[];
  known?: FoundDoubt[];
}

/** What a check finds in some series. */
export async function findIn(
  check: QualityCheck,
  series: Constructed,
  given: Given = {},
): Promise<FoundDoubt[]> {
  const constructions = await Constructions.open();
  return constructions.find(check, series, given).finally(() => constructions.close());
}
