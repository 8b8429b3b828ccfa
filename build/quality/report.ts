/**
 * The quality report of a build: the findings of all checks and what a person has decided about them, compared with the
 * night before.
 */

import type { Logger } from 'pino';
import {
  type FoundDoubt,
  foundDoubt,
  type OperatorReport,
  type QualityCounts,
  type QualityFinding,
  type SeriesStatistics,
} from '../../data/schema/quality.ts';
import { LASTING_KINDS, type QualityKindName } from '../../data/schema/quality-kinds.ts';
import { formatTimestamp } from '../../data/schema/records.ts';
import type { SnapshotPlan } from '../editions/plan/plan-snapshot.ts';
import type { DuckSession } from '../runtime/duckdb.ts';
import { describeError } from '../runtime/errors.ts';
import { type CheckContext, counted, doubtAbout, type QualityCheck } from './check.ts';
import { labelChanges, renames, sinceYesterday } from './checks/changes.ts';
import { duplicates, sameFigures } from './checks/duplicates.ts';
import { coverage, histories } from './checks/histories.ts';
import { labelFigures, priceBasis, ratesOfTotals } from './checks/label-figures.ts';
import { labelWords } from './checks/label-words.ts';
import { measures } from './checks/measures.ts';
import { partsOfWholes } from './checks/parts.ts';
import { runs } from './checks/runs.ts';
import { concepts, twinFigures, twins } from './checks/twins.ts';
import { countries, ranges, unchecked } from './checks/values.ts';
import {
  decideFindings,
  findingId,
  lastingDoubts,
  type NightlyFindings,
  nightOf,
  QualityReports,
} from './findings.ts';

/** A further family of kinds is a check in `checks/` and a line here. */
const QUALITY_CHECKS: readonly QualityCheck[] = [
  concepts,
  countries,
  coverage,
  duplicates,
  histories,
  labelChanges,
  labelFigures,
  labelWords,
  measures,
  partsOfWholes,
  priceBasis,
  ranges,
  ratesOfTotals,
  renames,
  runs,
  sameFigures,
  sinceYesterday,
  twinFigures,
  twins,
  unchecked,
];

/** What the checks look at, but for what follows from the plan and from the nights before. */
export interface QualityInput
  extends Omit<CheckContext, 'series' | 'unchecked' | 'withheld' | 'known' | 'providers' | 'currentYear'> {
  /** By id; of series without rows there are none. */
  statistics: ReadonlyMap<string, SeriesStatistics>;
  /** Why there are none of others, by id. */
  failed: ReadonlyMap<string, string>;
  plan: SnapshotPlan;
  lakeDir: string;
  /** When the build started, in milliseconds. */
  startedAt: number;
  log: Logger;
}

export interface QualityReport extends NightlyFindings {
  night: string;
}

/** A check that fails is logged and a finding, and its own findings of the night before stand: it must not hold up the figures. */
export async function reportQuality(input: QualityInput): Promise<QualityReport> {
  const { duck, plan, curated, log, startedAt, lakeDir, ...given } = input;
  const night = nightOf(startedAt);
  const { before, earlier } = await readNights(new QualityReports(lakeDir), duck, night, log);
  const context: CheckContext = {
    duck,
    curated,
    ...given,
    ...sortSeries(input),
    withheld: new Set(plan.withheld),
    known: [...(before ?? []), ...earlier],
    providers: plan.providers,
    currentYear: new Date(startedAt).getUTCFullYear(),
  };
  const found = await runChecks(QUALITY_CHECKS, context, log);
  const lasting = lastingDoubts(standing(context, LASTING_KINDS), found, curated.decisions);
  const decided = decideFindings({
    doubts: [...found, ...lasting],
    decisions: curated.decisions,
    series: new Set([...context.published.keys(), ...plan.withheld]),
    wholeProviders: new Set(
      plan.providers
        .filter(({ run }) => run !== null && !run.record.starter)
        .map(({ definition }) => definition.id),
    ),
    before,
    earlier,
    now: formatTimestamp(startedAt),
  });
  for (const { kind, subject, other, decision } of decided.unused)
    log.warn({ kind, subject, other, decision }, 'a quality decision matches no finding');
  return { night, ...decided };
}

/** The series whose figures checks can compute with, and why they cannot with others. */
function sortSeries({
  published,
  statistics,
  failed,
}: QualityInput): Pick<CheckContext, 'series' | 'unchecked'> {
  const unchecked = new Map([...failed].map(([id, reason]) => [id, { reason, values: 1 }]));
  for (const [id, { extreme, min, max }] of statistics) {
    if (extreme === 0) continue;
    const reason = `${counted(extreme, 'value is', 'values are')} too large or too small to compute with, from ${min} to ${max}`;
    unchecked.set(id, { reason, values: extreme });
  }
  const series = new Map(
    [...published].flatMap(([id, labelled]) => {
      const figures = statistics.get(id);
      return figures && !unchecked.has(id) ? [[id, { ...labelled, statistics: figures }] as const] : [];
    }),
  );
  return { series, unchecked };
}

/** The findings of the newest night before this one, null without any, and of an earlier build of this night. */
async function readNights(reports: QualityReports, duck: DuckSession, night: string, log: Logger) {
  const nights = await reports.nights();
  const read = async (one: string | undefined): Promise<QualityFinding[] | null> => {
    if (one === undefined) return null;
    try {
      return await reports.read(duck, one);
    } catch (error) {
      log.error({ err: error, night: one }, 'the quality report cannot be read');
      return null;
    }
  };
  const before = await read(nights.findLast((one) => one < night));
  return { before, earlier: (await read(nights.find((one) => one === night))) ?? [] };
}

export async function runChecks(
  checks: readonly QualityCheck[],
  context: CheckContext,
  log: Logger,
): Promise<FoundDoubt[]> {
  // Two checks may look for one kind.
  const found = new Map<string, FoundDoubt>();
  const add = (doubts: readonly FoundDoubt[]): void => {
    for (const doubt of doubts) if (!found.has(findingId(doubt))) found.set(findingId(doubt), doubt);
  };
  const failures: string[] = [];
  for (const check of checks) {
    const startedAt = performance.now();
    const { kinds } = check;
    try {
      const doubts = await check.find(context);
      add(doubts.map((doubt) => foundDoubt.parse(doubt)));
    } catch (error) {
      failures.push(`${kinds.join(', ')} (${describeError(error)})`);
      log.error({ err: error, kinds }, 'a quality check failed');
      add(standing(context, kinds));
    }
    log.debug({ kinds, ms: Math.round(performance.now() - startedAt) }, 'quality check');
  }
  if (failures.length > 0) {
    const message = `${counted(failures.length, 'check', 'checks')} failed; the findings of the night before stand. ${failures.join('; ')}.`;
    // Concerns no provider, so it is decided by mending the check.
    add([doubtAbout('check_failed', 'all', message, failures.length)]);
  }
  return [...found.values()];
}

/** What is known of some kinds, on providers and series that are still published. */
function standing({ known, published }: CheckContext, kinds: readonly QualityKindName[]): FoundDoubt[] {
  const byId = new Map(
    known
      .filter(
        ({ kind, indicator }) => kinds.includes(kind) && (indicator === null || published.has(indicator)),
      )
      .map((finding) => [finding.id, foundDoubt.parse(finding)]),
  );
  return [...byId.values()];
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
