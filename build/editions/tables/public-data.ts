/** Collects what a snapshot publishes besides observations: tables, relations, the quality report, twins and records. */
import type { Logger } from 'pino';
import type { Curated } from '../../../data/curated/curated.ts';
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import type { Additions, ConceptLink } from '../../../data/schema/snapshot.ts';
import { publicFindingsOf, type QualityReport, reportQuality } from '../../quality/report.ts';
import type { DuckSession } from '../../runtime/duckdb.ts';
import type { BaseEdition } from '../base-edition.ts';
import type { BuildSteps } from '../build-steps.ts';
import type { ServedHistory } from '../plan/departures.ts';
import type { SnapshotPlan } from '../plan/plan-snapshot.ts';
import { findRelations } from '../relations/relations.ts';
import { findTwins } from '../relations/twins.ts';
import type { PublicData } from './prerender.ts';
import {
  countryDetails,
  countryRecords,
  coverageRecords,
  freshnessRecords,
  indexIndicators,
  topicRecords,
} from './public-records.ts';
import { readSparklines } from './sparklines.ts';
import { dropCountrySeries, type IndicatorCoverage, writeSummaryTables } from './summary-tables.ts';

/** What a build has when the observation files are written. */
export interface Written {
  directory: string;
  plan: SnapshotPlan;
  base: BaseEdition | null;
  /** What was served up to the base edition. */
  history: ServedHistory;
  /** The series whose files were linked from the base edition. */
  linked: ReadonlySet<string>;
}

/** What the collection reads with. */
export interface Collecting {
  duck: DuckSession;
  curated: Curated;
  steps: BuildSteps;
  lakeDir: string;
  log: Logger;
  /** When the build started, in milliseconds. */
  startedAt: number;
}

export interface CollectedData {
  data: PublicData;
  coverage: ReadonlyMap<string, IndicatorCoverage>;
  quality: Omit<QualityReport, 'statistics'>;
  additions: Additions;
}

export async function collectPublicData(written: Written, collecting: Collecting): Promise<CollectedData> {
  const { directory, plan } = written;
  const { duck, curated, steps, startedAt } = collecting;
  const { coverage, records, latest, topicCountries, countryCoverage } = await steps.run('tables', () =>
    writeSummaryTables(duck, directory, plan.indicators),
  );
  steps.progress('relations', 0, 1, 'passes');
  const { related, concepts } = await steps.run('relations', async () =>
    findRelations({
      ...{ indicators: plan.indicators, coverage, latest },
      ...{ concepts: curated.concepts, links: curated.links },
    }),
  );
  const { statistics, ...quality } = await judgeQuality(written, collecting, records, concepts);
  const twins = await steps.run('twins', () => findTwins(duck, directory, curated.concepts, records));
  const details = await steps.run('records', async () =>
    countryDetails(plan, curated.topics, records, latest),
  );
  const sparklines = await steps.run('sparklines', () =>
    readSparklines(duck, directory, plan.indicators, startedAt),
  );
  const data: PublicData = {
    topics: topicRecords(curated.topics, records, topicCountries),
    countries: countryRecords(plan),
    indicators: indexIndicators(plan, records),
    freshness: freshnessRecords(plan, coverage),
    coverage: coverageRecords(plan, countryCoverage),
    details,
    related,
    concepts,
    statistics,
    sparklines,
  };
  const additions: Additions = {
    sources: new Map(plan.indicators.map(({ id, sources }) => [id, sources])),
    quality: publicFindingsOf(quality.findings, plan),
    twins,
  };
  return { data, coverage, quality, additions };
}

const judgeQuality = (
  { base, history: { departures, firstDate }, ...written }: Written,
  { duck, curated, steps, lakeDir, log, startedAt }: Collecting,
  records: readonly IndicatorRecord[],
  concepts: readonly ConceptLink[],
): Promise<QualityReport> =>
  steps.run('quality', async () => {
    const departed = new Set(departures.flatMap(({ indicators }) => indicators));
    const history = { departed, firstDate };
    const input = { ...written, previous: base, history, duck, curated, records, concepts, log, startedAt };
    const report = await reportQuality({ ...input, lakeDir });
    await dropCountrySeries(duck);
    return report;
  });
