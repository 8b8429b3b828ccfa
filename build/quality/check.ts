/** What a quality check gets and gives, and the words of its doubts. Each file under `checks/` has those of one subject. */
import type { DuckDBValue } from '@duckdb/node-api';
import type { Curated } from '../../data/curated/curated.ts';
import type { AggregateDeviation } from '../../data/schema/groups.ts';
import type { FoundDoubt, QualityFinding, SeriesStatistics } from '../../data/schema/quality.ts';
import type { QualityKindName } from '../../data/schema/quality-kinds.ts';
import { INDICATOR_ID, type IndicatorRecord } from '../../data/schema/records.ts';
import { type ConceptLink, providerOf } from '../../data/schema/snapshot.ts';
import type { SeriesTraits } from '../../data/schema/traits.ts';
import type { PlannedIndicator, PlannedProvider } from '../editions/plan/plan-snapshot.ts';
import type { DuckSession } from '../runtime/duckdb.ts';

/** A published series with its public record. */
export interface LabelledSeries {
  planned: PlannedIndicator;
  record: IndicatorRecord;
}

/** With the statistics of its figures. */
export interface CheckedSeries extends LabelledSeries {
  statistics: SeriesStatistics;
}

/** What a published series measures, and what is wrong with the row that should decide it. */
export interface MeasuredSeries {
  traits: SeriesTraits;
  /** What the coverage of groups is measured by: the weight of a mean, the population of a sum. */
  divisor: string | null;
  /** Sentences. */
  faults: readonly string[];
}

export interface CheckContext {
  /**
   * Has the table `planned` (`number, id, slug, projected_from, ascending, no_rank`) and the table `country_series`: per
   * `number` and `iso3` `n_rows, n_values, yr_min, yr_max, latest_year` and `latest`, a struct of the latest observed row.
   * A check that creates tables drops them.
   */
  duck: DuckSession;
  /**
   * The published files of some series, for `read_parquet($files, filename = true)`, where
   * `left(parse_filename(filename), -8)` is the id. Reading all of them takes seconds: ask for suspects only. Not for an
   * empty list, which DuckDB refuses.
   */
  files(ids: readonly string[]): DuckDBValue;
  /** The same of the snapshot before, for ids of `before`. */
  filesBefore(ids: readonly string[]): DuckDBValue;
  /** Those with rows whose figures can be computed with, by id: sums, squares and ratios stay finite. */
  series: ReadonlyMap<string, CheckedSeries>;
  /** All series, by id. */
  published: ReadonlyMap<string, LabelledSeries>;
  /** Why the figures of the others cannot be computed with, and how many cannot, by id. */
  unchecked: ReadonlyMap<string, { reason: string; values: number }>;
  /** Ids of series in the lake that are not published. */
  withheld: ReadonlySet<string>;
  /** The same as of the snapshot before; empty for the first. */
  before: ReadonlyMap<string, { record: IndicatorRecord; statistics: SeriesStatistics }>;
  /** Ids under which earlier snapshots had series that the one before no longer has. */
  departed: ReadonlySet<string>;
  /** The date (UTC) of the oldest snapshot; null before the first. */
  firstDate: string | null;
  /** The file `coverage.parquet`: `indicator, iso3, n_rows, n_values, yr_min, yr_max, latest_year`. */
  coverage: string;
  /** The same of the snapshot before; null for the first. */
  coverageBefore: string | null;
  /** What the night before and earlier builds of this night found. */
  known: readonly QualityFinding[];
  providers: readonly PlannedProvider[];
  /** All series, by id. */
  measured: ReadonlyMap<string, MeasuredSeries>;
  /** How far figures of groups are from those that the provider publishes, by id. */
  deviations: ReadonlyMap<string, AggregateDeviation>;
  /** Pairs that the build takes for one concept. */
  concepts: readonly ConceptLink[];
  curated: Curated;
  /** The calendar year (UTC) of the build. */
  currentYear: number;
}

export interface QualityCheck {
  /** The kinds that it may find. */
  kinds: readonly QualityKindName[];
  /** Finds each doubt once: no two with equal kind, provider, indicator and other. */
  find(context: CheckContext): Promise<FoundDoubt[]>;
}

/** `26,347`, `533.2`, `0.0512`, `1.2E21`: at least four digits. */
export function figure(value: number): string {
  const size = Math.abs(value);
  const isExtreme = size >= 1e20 || (size < 1e-20 && value !== 0);
  return value.toLocaleString('en', {
    ...(isExtreme && { notation: 'scientific' }),
    ...(size >= 1000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 4 }),
  });
}

/** `1 country`, `2 countries`. */
export const counted = (count: number, one: string, many: string): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

/** The name of a country; its code when it is unknown. */
export const countryName = ({ countries }: Pick<Curated, 'countries'>, iso3: string): string =>
  countries.find((country) => country.iso3 === iso3)?.name ?? iso3;

export const quote = (text: string): string => `“${text}”`;

/** `; 3 more countries`, when a message has named the first of several. */
export const andMore = (countries: readonly string[]): string =>
  countries.length > 1 ? `; ${counted(countries.length - 1, 'more country', 'more countries')}` : '';

/** A doubt about a series, or about a provider, by its id; with another series, places and years where `more` names them. */
export function doubtAbout(
  kind: QualityKindName,
  id: string,
  message: string,
  extent = 1,
  more: Partial<FoundDoubt> = {},
): FoundDoubt {
  const subject = INDICATOR_ID.test(id)
    ? { provider: providerOf(id), indicator: id }
    : { provider: id, indicator: null };
  return { kind, ...subject, other: null, countries: [], years: null, extent, message, ...more };
}
