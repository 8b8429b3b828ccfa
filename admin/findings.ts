/** The quality report of the last build, as it stands in Redis, with what operators decided or snoozed since. */
import type { FindingDecision } from '../data/schema/operator-changes.ts';
import { type OperatorReport, operatorReport, type QualityFinding } from '../data/schema/quality.ts';
import { redisKeys } from '../data/schema/redis-keys.ts';
import type { AdminArea } from './context.ts';

export interface ListedFinding extends QualityFinding {
  /** What an operator decided or snoozed here; null for none, and for rows of `data/quality-decisions.csv`. */
  own: FindingDecision | null;
  /** The last day (UTC) on which it is snoozed; null when it is not. */
  snoozedUntil: string | null;
  /** Whether it was decided after the report: the next build obeys. */
  isPending: boolean;
}

interface Report extends Omit<OperatorReport, 'findings'> {
  findings: ListedFinding[];
}

/** Null before the first build that reported one. */
export async function readFindings({
  redis,
  decisions,
  now,
}: Pick<AdminArea, 'redis' | 'decisions' | 'now'>): Promise<Report | null> {
  const [text, decided] = await Promise.all([redis.get(redisKeys.quality), decisions.findings.all()]);
  if (text === null) return null;
  const { findings, ...report } = operatorReport.parse(JSON.parse(text));
  const reported_at_ms = Date.parse(report.reported_at);
  const today = new Date(now()).toISOString().slice(0, 10);
  return {
    ...report,
    findings: findings.map((one) =>
      withDecision(one, decided.get(one.id) ?? null, { reported_at_ms, today }),
    ),
  };
}

function withDecision(
  finding: QualityFinding,
  own: FindingDecision | null,
  { reported_at_ms, today }: { reported_at_ms: number; today: string },
): ListedFinding {
  const plain = { ...finding, own, snoozedUntil: null, isPending: false };
  // A finding that is worse than what was decided is asked again.
  if (own === null || finding.extent > own.extent) return plain;
  const { decision, until, reason, decided_at_ms } = own;
  if (decision === 'snooze')
    return {
      ...plain,
      snoozedUntil: finding.decision === null && until !== null && until >= today ? until : null,
    };
  return decided_at_ms >= reported_at_ms
    ? { ...plain, decision, reason, lapsed: null, isPending: true }
    : plain;
}

/** Neither decided nor snoozed. */
export const isOpen = ({ decision, snoozedUntil }: ListedFinding): boolean =>
  decision === null && snoozedUntil === null;
