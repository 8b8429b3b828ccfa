/** Collects what needs an operator's attention, worst first. A further kind of finding is a source and a line here. */

import { type Condition, withoutAddresses } from '../../gateway/commerce/notifications/notifications.ts';
import { discrepancies, givenUpJobs, openInvoices, privacyRequests } from './accounts.ts';
import { openQualityErrors, staleProviders, staleSeries } from './figures.ts';
import {
  type AttentionContext,
  type AttentionItem,
  type AttentionSource,
  type Observation,
  SEVERITIES,
} from './item.ts';
import { failedJobs, failedRuns, failedSeries, heldRuns, rejectedRows } from './runs.ts';

const ADMIN_PATH = '/admin';

const SOURCES: readonly AttentionSource[] = [
  failedRuns,
  discrepancies,
  failedJobs,
  givenUpJobs,
  failedSeries,
  heldRuns,
  staleProviders,
  staleSeries,
  openQualityErrors,
  privacyRequests,
  openInvoices,
  rejectedRows,
];

/** What was looked for, in the plural. */
export const CHECKED: readonly string[] = SOURCES.map(({ finds }) => finds);

/** Worst first, and of equal severity the oldest first. */
export async function needsAttention(context: AttentionContext): Promise<AttentionItem[]> {
  const found = await Promise.all(SOURCES.map((source) => findSafely(source, context)));
  return found.flat().sort(compare);
}

/** Conditions that cause operator alerts. A source that cannot be read ends no condition. */
export async function observeConditions(context: AttentionContext): Promise<Observation> {
  const found: Condition[] = [];
  const complete: string[] = [];
  for (const source of SOURCES) {
    const { conditions: kind, finds } = source;
    if (kind === undefined) continue;
    try {
      for (const item of await source.find(context))
        if (item.condition !== undefined) found.push(conditionOf(context, `${kind}:${item.condition}`, item));
      if (source.isComplete?.(context) ?? true) complete.push(kind);
    } catch (error) {
      context.area.log.error({ err: error, finds }, 'cannot check what operators are told of');
    }
  }
  return { found, complete };
}

function conditionOf({ area }: AttentionContext, condition: string, item: AttentionItem): Condition {
  const { severity, what, since_ms, path } = item;
  return {
    condition,
    severity,
    what: withoutAddresses(what),
    since: since_ms === null ? null : new Date(since_ms).toISOString(),
    url: `${area.areaUrl()}${path.slice(ADMIN_PATH.length)}`,
  };
}

/** A source that cannot be read hides no other one, and is no reason to believe that all is well. */
async function findSafely(source: AttentionSource, context: AttentionContext): Promise<AttentionItem[]> {
  try {
    return await source.find(context);
  } catch (error) {
    context.area.log.error({ err: error, finds: source.finds }, 'cannot check what needs attention');
    return [
      {
        severity: 'critical',
        what: `It cannot be checked whether there are ${source.finds}. The service log says why.`,
        since_ms: context.now_ms,
        path: '/admin/',
        action: 'Check again',
      },
    ];
  }
}

function compare(a: AttentionItem, b: AttentionItem): number {
  const bySeverity = SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity);
  return (
    bySeverity || (a.since_ms ?? Number.POSITIVE_INFINITY) - (b.since_ms ?? Number.POSITIVE_INFINITY) || 0
  );
}
