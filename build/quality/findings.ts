/**
 * Turns what the checks found into the findings of a night: with the day of their first night, the change since the night
 * before, and the decision that holds.
 *
 * The reports of all nights are in `<LAKE_DIR>/quality/<night>.parquet`, a row a finding. A night is a day (UTC); of several
 * builds on one day the last one counts. They are small and kept for ever.
 */
import { hash } from 'node:crypto';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { draftReplacement, type Replacement } from '../../data/runtime/durable-files.ts';
import { sqlOf } from '../../data/runtime/sql-files.ts';
import { QUALITY_REPORTS } from '../../data/schema/lake.ts';
import {
  decisionKey,
  type FoundDoubt,
  foundDoubt,
  type QualityCounts,
  type QualityDecision,
  type QualityFinding,
  qualityFindings,
} from '../../data/schema/quality.ts';
import { QUALITY_KINDS, qualitySeverity } from '../../data/schema/quality-kinds.ts';
import type { DuckSession } from '../runtime/duckdb.ts';

type Identity = Pick<FoundDoubt, 'kind' | 'provider' | 'indicator' | 'other'>;

/** The same every night. */
export function findingId({ kind, provider, indicator, other }: Identity): string {
  return hash('sha256', JSON.stringify([kind, provider, indicator, other])).slice(0, 16);
}

/** Finds the decision about a doubt by kind and subjects; it may name a pair in either order. */
function decisionFinder(decisions: readonly QualityDecision[]) {
  const byKey = new Map(decisions.map((one) => [decisionKey(one), one]));
  return (doubt: FoundDoubt) => byKey.get(decisionKey({ ...doubt, subject: subjectOf(doubt) }));
}

/** The doubts of kinds that last which are known, not found again, and not decided yet. */
export function lastingDoubts(
  known: readonly FoundDoubt[],
  found: readonly FoundDoubt[],
  decided: readonly QualityDecision[],
): FoundDoubt[] {
  const again = new Set(found.map(findingId));
  const findDecision = decisionFinder(decided);
  return known.filter((doubt) => {
    const decision = findDecision(doubt);
    const isSettled =
      decision !== undefined && (decision.decision === 'fix' || doubt.extent <= decision.extent);
    return !isSettled && !again.has(findingId(doubt));
  });
}

export interface Night {
  doubts: readonly FoundDoubt[];
  decisions: readonly QualityDecision[];
  /** Ids of all series in the lake, withheld ones included. */
  series: ReadonlySet<string>;
  /** Providers of which all series are in the lake. A provider that was never read, or only from starter data, is missing here. */
  wholeProviders: ReadonlySet<string>;
  /** The findings of the newest night before; null for the first. */
  before: readonly QualityFinding[] | null;
  /** What an earlier build of this night found. */
  earlier: readonly QualityFinding[];
  /** A timestamp. */
  now: string;
}

export interface NightlyFindings {
  /** Worst first, then by kind, indicator and extent. */
  findings: QualityFinding[];
  counts: QualityCounts;
  /**
   * Decisions on whole providers without a finding; `fix` and `withhold` of a known series are meant to have none. What
   * a decision is about may be missing from any other provider.
   */
  unused: QualityDecision[];
}

/** @throws {z.ZodError} for a doubt of another form; {RangeError} for two of one identity. */
export function decideFindings(night: Night): NightlyFindings {
  const findDecision = decisionFinder(night.decisions);
  const before = new Map(night.before?.map((one) => [one.id, one]));
  const earlier = new Map(night.earlier.map((one) => [one.id, one]));
  const used = new Set<QualityDecision>();
  const findings = new Map<string, QualityFinding>();
  for (const given of night.doubts) {
    const doubt = { ...foundDoubt.parse(given), extent: comparable(given.extent) };
    const id = findingId(doubt);
    if (findings.has(id)) throw new RangeError(`${doubt.kind} is found twice for ${subjectOf(doubt)}`);
    const decision = findDecision(doubt);
    if (decision) used.add(decision);
    const last = before.get(id);
    const isWorse = last !== undefined && doubt.extent > last.extent;
    findings.set(id, {
      ...doubt,
      id,
      severity: QUALITY_KINDS[doubt.kind].severity,
      first_seen: (last ?? earlier.get(id))?.first_seen ?? night.now,
      change: isWorse ? 'worse' : night.before !== null && last === undefined ? 'new' : null,
      ...verdict(doubt, decision),
    });
  }
  const sorted = [...findings.values()].sort(compareFindings);
  return {
    findings: sorted,
    counts: countFindings(sorted, night.before ?? []),
    unused: night.decisions.filter(
      (one) => !used.has(one) && !isDone(one, night.series) && isOnWhole(one, night.wholeProviders),
    ),
  };
}

const isDone = ({ decision, subject }: QualityDecision, series: ReadonlySet<string>): boolean =>
  (decision === 'fix' || decision === 'withhold') && (series.has(subject) || !subject.includes('.'));

const isOnWhole = ({ subject, other }: QualityDecision, providers: ReadonlySet<string>): boolean =>
  [subject, other ?? subject].every((id) => providers.has(id.split('.', 1)[0] ?? ''));

const subjectOf = ({ indicator, provider }: FoundDoubt): string => indicator ?? provider;

/** Six digits are enough to tell worse from equal, and can be written into a decision. */
const comparable = (extent: number): number =>
  Number.isInteger(extent) ? extent : Number(extent.toPrecision(6));

function verdict(
  { extent }: FoundDoubt,
  decision: QualityDecision | undefined,
): Pick<QualityFinding, 'decision' | 'reason' | 'lapsed'> {
  if (!decision) return { decision: null, reason: null, lapsed: null };
  const holds = decision.decision !== 'fix' && extent <= decision.extent;
  if (holds) return { decision: decision.decision, reason: decision.reason, lapsed: null };
  const { kind: _, subject: __, other: ___, ...lapsed } = decision;
  return { decision: null, reason: null, lapsed };
}

const SEVERITIES = qualitySeverity.options;

function compareFindings(a: QualityFinding, b: QualityFinding): number {
  return (
    SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
    compareText(a.kind, b.kind) ||
    compareText(subjectOf(a), subjectOf(b)) ||
    compareText(a.other ?? '', b.other ?? '')
  );
}

const compareText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

function countFindings(
  findings: readonly QualityFinding[],
  before: readonly QualityFinding[],
): QualityCounts {
  const ids = new Set(findings.map(({ id }) => id));
  const open = (severity: QualityFinding['severity']): number =>
    findings.filter((one) => one.severity === severity && one.decision === null).length;
  return {
    findings: findings.length,
    open_errors: open('error'),
    open_warnings: open('warning'),
    open_notices: open('notice'),
    new: findings.filter(({ change }) => change === 'new').length,
    worse: findings.filter(({ change }) => change === 'worse').length,
    gone: before.filter(({ id }) => !ids.has(id)).length,
  };
}

const sql = sqlOf(import.meta.url);

const REPORT = /^(\d{4}-\d{2}-\d{2})\.parquet$/;

/** `2026-11-20` */
export const nightOf = (instant: number): string => new Date(instant).toISOString().slice(0, 10);

export class QualityReports {
  readonly directory: string;

  constructor(lakeDir: string) {
    this.directory = join(lakeDir, QUALITY_REPORTS);
  }

  /** Nights with a report, oldest first. */
  async nights(): Promise<string[]> {
    const names = await readdir(this.directory).catch(() => []);
    return names.flatMap((name) => REPORT.exec(name)?.[1] ?? []).sort();
  }

  /** The findings of a night. @throws when its report cannot be read. */
  async read(duck: DuckSession, night: string): Promise<QualityFinding[]> {
    return qualityFindings.parse(await duck.rows(sql('read-findings'), { file: this.#file(night) }));
  }

  /** Writes the report of a night beside the others; it becomes visible by `commit`. */
  async draft(
    duck: DuckSession,
    { night, findings }: { night: string; findings: readonly QualityFinding[] },
  ): Promise<Replacement> {
    await mkdir(this.directory, { recursive: true });
    // What a crash left; one build runs at a time.
    for (const name of await readdir(this.directory))
      if (name.endsWith('.tmp')) await rm(join(this.directory, name), { force: true });
    const scratch = join(this.directory, `.scratch-${night}.tmp`);
    try {
      await duck.run(sql('write-findings'), { findings: JSON.stringify(findings), file: scratch });
      return await draftReplacement(this.#file(night), await readFile(scratch));
    } finally {
      await rm(scratch, { force: true });
    }
  }

  #file(night: string): string {
    return join(this.directory, `${night}.parquet`);
  }
}
