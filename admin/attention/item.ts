/** What the dashboard's list "Needs attention" consists of, and what its sources look at. */
import { SNAPSHOT_SUBJECT, type StoredRun } from '../../data/schema/jobs.ts';
import type { Condition } from '../../gateway/commerce/notifications/notifications.ts';
import { formatCount } from '../../gateway/commerce/people/people.ts';
import type { AdminArea } from '../context.ts';
import { listProviderRuns, type ProviderRuns } from '../provider-freshness.ts';
import type { Reconciliation } from '../reconcile/reconciler.ts';

/** Worst first. */
export const SEVERITIES = ['critical', 'warning', 'notice'] as const;
export type Severity = (typeof SEVERITIES)[number];

export interface AttentionItem {
  severity: Severity;
  /** A sentence that says what is wrong and with what. */
  what: string;
  /** Null when it is not known. */
  since_ms: number | null;
  /** The page where it is dealt with. */
  path: string;
  /** What the operator does there; the text of the link. */
  action: string;
  /** Names it among those of its source as long as it lasts, so that it causes one alert; absent for none. */
  condition?: string;
}

/** What one look at the service found. */
export interface Observation {
  found: readonly Condition[];
  /** Kinds of conditions of which none can have been missed. */
  complete: readonly string[];
}

/** What several sources look at, read once. */
export interface AttentionContext {
  area: AdminArea;
  now_ms: number;
  providers: readonly ProviderRuns[];
  /** Builds of snapshots, newest first. */
  builds: readonly StoredRun[];
  /** Null before the first reconciliation has finished. */
  reconciliation: Reconciliation | null;
}

export interface AttentionSource {
  /** What it looks for, in the plural: `failed series`. */
  finds: string;
  /** What its conditions are called in alerts: `held-run`. */
  conditions?: string;
  /** False while it may miss a condition; default true. */
  isComplete?(context: AttentionContext): boolean;
  find(context: AttentionContext): AttentionItem[] | Promise<AttentionItem[]>;
}

const SHOWN_NAMES = 5;

/** The first few names, and how many more there are. */
export function listNames(names: readonly string[]): string {
  const rest = names.length - SHOWN_NAMES;
  const shown = names.slice(0, SHOWN_NAMES).join(', ');
  return rest > 0 ? `${shown} and ${formatCount(rest)} more` : shown;
}

/** A reason as a sentence: reasons of errors end without a full stop. */
export const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

const MAX_BUILDS = 50;

/** @param wait_ms for a reconciliation, which is repeated where the last one is `max_age_ms` old */
export async function readAttentionContext(
  area: AdminArea,
  max_age_ms: number,
  wait_ms: number,
): Promise<AttentionContext> {
  const { reconciler } = area;
  const now_ms = area.now();
  const age_ms = now_ms - (reconciler.last?.finished_at_ms ?? 0);
  const [providers, { runs: builds }] = await Promise.all([
    listProviderRuns(area),
    area.runs.list({ subject: SNAPSHOT_SUBJECT, limit: MAX_BUILDS }),
    age_ms >= max_age_ms && reconciler.refresh(wait_ms),
  ]);
  return { area, now_ms, providers, builds, reconciliation: reconciler.last };
}
