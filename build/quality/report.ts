/**
 * The quality report of a build: statistics of all published series, the checks of the registry, and what a person has
 * decided about their findings, compared with the night before.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { listValue } from '@duckdb/node-api';
import type { Logger } from 'pino';
import type { Curated } from '../../data/curated/curated.ts';
import {
  type FoundDoubt,
  foundDoubt,
  LASTING_KINDS,
  type OperatorReport,
  type PublicFinding,
  publicFinding,
  type QualityCounts,
  type QualityDecision,
  type QualityFinding,
  type QualityKindName,
  type SeriesStatistics,
} from '../../data/schema/quality.ts';
import { formatTimestamp, type IndicatorRecord } from '../../data/schema/records.ts';
import { CATALOGUE, type ConceptLink, catalogueIndex, observationsFile } from '../../data/schema/snapshot.ts';
import type { SnapshotPlan } from '../editions/plan-snapshot.ts';
import { TABLE_FILES } from '../editions/summary-tables.ts';
import type { Published } from '../publish/snapshot-storage.ts';
import { firstNamed } from '../publish/verify.ts';
import type { DuckSession } from '../runtime/duckdb.ts';
import type { CheckContext, QualityCheck } from './check.ts';
import { decideFindings, lastingDoubts, type NightlyFindings } from './decide.ts';
import { QUALITY_CHECKS } from './registry.ts';
import { nightOf, QualityReports } from './report-storage.ts';
import { collectStatistics, readStatistics } from './series-statistics.ts';
import { counted } from './wording.ts';

export interface QualityInput {
  duck: DuckSession;
  /** Holds the observation files. */
  directory: string;
  plan: SnapshotPlan;
  curated: Curated;
  /** In plan order. */
  records: readonly IndicatorRecord[];
  concepts: readonly ConceptLink[];
  /** The served snapshot, and the series whose files were linked from it. */
  previous: Published | null;
  linked: ReadonlySet<string>;
  lakeDir: string;
  /** When the build started, in milliseconds. */
  startedAt: number;
  log: Logger;
  checks?: readonly QualityCheck[];
}

export interface QualityReport extends NightlyFindings {
  night: string;
  statistics: Map<string, SeriesStatistics>;
}

/** A check that fails is logged, and its findings of the night before stand: it must not hold up the figures. */
export async function reportQuality(input: QualityInput): Promise<QualityReport> {
  const { duck, directory, plan, curated, previous, linked, log, startedAt } = input;
  const reports = new QualityReports(input.lakeDir);
  const night = nightOf(startedAt);
  const { before, earlier } = await readNights(reports, duck, night, log);
  const old = previous ? await readStatistics(previous.directory) : new Map<string, SeriesStatistics>();
  const known = new Map([...old].filter(([id]) => linked.has(id)));
  const statistics = await collectStatistics(duck, directory, plan.indicators, known);
  const filesIn = (snapshot: string) => (ids: readonly string[]) =>
    listValue(ids.map((id) => join(snapshot, observationsFile(id))));
  const context: CheckContext = {
    duck,
    files: filesIn(directory),
    filesBefore: filesIn(previous?.directory ?? directory),
    series: checkedSeries(input, statistics),
    before: previous ? await publishedBefore(previous, old) : new Map(),
    coverage: join(directory, TABLE_FILES.coverage),
    coverageBefore: previous && join(previous.directory, TABLE_FILES.coverage),
    known: [...(before ?? []), ...earlier],
    providers: plan.providers,
    concepts: input.concepts,
    curated,
    currentYear: new Date(startedAt).getUTCFullYear(),
  };
  const found = await runChecks(input.checks ?? QUALITY_CHECKS, context, log);
  const lasting = lastingDoubts(standing(context, LASTING_KINDS), found, curated.decisions);
  const decided = decideFindings({
    doubts: [...found, ...lasting],
    decisions: curated.decisions,
    series: new Set([...context.series.keys(), ...plan.withheld]),
    before,
    earlier,
    now: formatTimestamp(startedAt),
  });
  tellUnused(decided.unused, log);
  return { night, statistics, ...decided };
}

function checkedSeries(
  { plan, records }: QualityInput,
  statistics: ReadonlyMap<string, SeriesStatistics>,
): CheckContext['series'] {
  return new Map(
    plan.indicators.flatMap((planned, at) => {
      const [record, figures] = [records[at], statistics.get(planned.id)];
      return record && figures ? [[planned.id, { planned, record, statistics: figures }] as const] : [];
    }),
  );
}

async function publishedBefore(
  { directory }: Published,
  statistics: ReadonlyMap<string, SeriesStatistics>,
): Promise<CheckContext['before']> {
  const { indicators } = catalogueIndex.parse(JSON.parse(await readFile(join(directory, CATALOGUE), 'utf8')));
  return new Map(
    indicators.flatMap(({ record }) => {
      const figures = statistics.get(record.id);
      return figures ? [[record.id, { record, statistics: figures }] as const] : [];
    }),
  );
}

/** `before`: the newest night before this one, null without any. `earlier`: what a build of this night found. */
async function readNights(
  reports: QualityReports,
  duck: DuckSession,
  night: string,
  log: Logger,
): Promise<{ before: QualityFinding[] | null; earlier: QualityFinding[] }> {
  const nights = await reports.nights();
  const last = nights.findLast((one) => one < night);
  const read = (one: string): Promise<QualityFinding[] | null> =>
    reports.read(duck, one).catch((error: unknown) => {
      log.error({ err: error, night: one }, 'the quality report cannot be read');
      return null;
    });
  return {
    before: last === undefined ? null : await read(last),
    earlier: (nights.includes(night) && (await read(night))) || [],
  };
}

export async function runChecks(
  checks: readonly QualityCheck[],
  context: CheckContext,
  log: Logger,
): Promise<FoundDoubt[]> {
  const found: FoundDoubt[] = [];
  for (const check of checks) {
    try {
      const doubts = await check.find(context);
      found.push(...doubts.map((doubt) => foundDoubt.parse(doubt)));
    } catch (error) {
      log.error({ err: error, kinds: check.kinds }, 'a quality check failed');
      found.push(...standing(context, check.kinds));
    }
  }
  return found;
}

/** What is known of some kinds, on providers and series that are still published. */
function standing({ known, series }: CheckContext, kinds: readonly QualityKindName[]): FoundDoubt[] {
  const byId = new Map(
    known
      .filter(({ kind, indicator }) => kinds.includes(kind) && (indicator === null || series.has(indicator)))
      .map((finding) => [finding.id, foundDoubt.parse(finding)]),
  );
  return [...byId.values()];
}

function tellUnused(decisions: readonly QualityDecision[], log: Logger): void {
  for (const { kind, subject, other, decision } of decisions)
    log.warn({ kind, subject, other, decision }, 'a quality decision matches no finding');
}

/**
 * What readers may see: findings on published series, each with every series that it concerns. A finding whose texts name
 * a withheld series is left out.
 */
export function publicFindingsOf(
  findings: readonly QualityFinding[],
  plan: SnapshotPlan,
): Map<string, PublicFinding[]> {
  const published = new Set(plan.indicators.map(({ id }) => id));
  const withheld = new Set(plan.withheld);
  const isPublic = (finding: QualityFinding): boolean =>
    firstNamed(JSON.stringify(publicFinding.parse(finding)), withheld) === undefined;
  const shown = findings
    .filter(isPublic)
    .flatMap((finding) =>
      [finding.indicator, finding.other].flatMap((id) =>
        id !== null && published.has(id) ? [{ id, finding: publicFinding.parse(finding) }] : [],
      ),
    );
  const byId = Map.groupBy(shown, ({ id }) => id);
  return new Map([...byId].map(([id, own]) => [id, own.map(({ finding }) => finding)]));
}

export const operatorReportOf = (
  { night, findings, unused }: Pick<QualityReport, 'night' | 'findings' | 'unused'>,
  reportedAt: string,
): OperatorReport => ({
  night,
  reported_at: reportedAt,
  findings,
  unused: unused.map(({ kind, subject, other }) => ({ kind, subject, other })),
});

/** `quality: 3 errors, 12 warnings and 40 notices open; 2 new, 1 worse and 0 gone since the night before` */
export const qualityLine = (counts: QualityCounts): string =>
  `quality: ${counted(counts.open_errors, 'error', 'errors')}, ${counted(counts.open_warnings, 'warning', 'warnings')} and ` +
  `${counted(counts.open_notices, 'notice', 'notices')} open; ` +
  `${counts.new} new, ${counts.worse} worse and ${counts.gone} gone since the night before`;
