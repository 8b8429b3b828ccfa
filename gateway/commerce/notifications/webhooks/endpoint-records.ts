/** The hash `{a:ID}:webhooks` of an account: its endpoints. */
import { type Hash, numberOr } from '../../store/store.ts';

export const MAX_ENDPOINTS = 10;

/** `gone`: it answered 410; `failures`: it failed for days. */
export type DisabledReason = 'gone' | 'failures';

/** Contains no secret. Times are Unix milliseconds. */
export interface WebhookEndpoint {
  endpoint_id: string;
  url: string;
  /** Types of events; see `catalogue.ts`. */
  types: readonly string[];
  state: 'enabled' | 'disabled';
  /** Null while it is enabled. */
  disabled_because: DisabledReason | null;
  disabled_at_ms: number | null;
  /** The first failed attempt since the last successful one. */
  failing_since_ms: number | null;
  created_at_ms: number;
  /** Id of the person who made it. */
  by: string;
  /** Until when the former secret signs too; null without one. */
  old_secret_until_ms: number | null;
}

/** Oldest first. */
export function endpointsFrom(hash: Hash): WebhookEndpoint[] {
  const ids = Object.keys(hash).flatMap((field) => /^([^:]+):url$/.exec(field)?.[1] ?? []);
  const endpoints = ids.map((endpoint_id) => endpointFrom(endpoint_id, hash));
  return endpoints.sort(
    (a, b) => a.created_at_ms - b.created_at_ms || (a.endpoint_id < b.endpoint_id ? -1 : 1),
  );
}

function endpointFrom(endpoint_id: string, hash: Hash): WebhookEndpoint {
  const field = (name: string): string | undefined => hash[`${endpoint_id}:${name}`];
  const reason = field('disabled_because') || null;
  return {
    endpoint_id,
    url: field('url') ?? '',
    types: (field('types') ?? '').split(' '),
    state: reason === null ? 'enabled' : 'disabled',
    disabled_because: reason as DisabledReason | null,
    disabled_at_ms: numberOr(field('disabled_at_ms'), null),
    failing_since_ms: numberOr(field('failing_since_ms'), null),
    created_at_ms: Number(field('created_at_ms') ?? 0),
    by: field('by') ?? '',
    old_secret_until_ms: numberOr(field('old_secret_until_ms'), null),
  };
}

/** The secrets that sign now, the current one first. */
export function secretsFrom(endpoint_id: string, hash: Hash, now_ms: number): string[] {
  const current = hash[`${endpoint_id}:secret`];
  const old = hash[`${endpoint_id}:old_secret`];
  const until_ms = numberOr(hash[`${endpoint_id}:old_secret_until_ms`], null);
  const secrets = [current, until_ms !== null && now_ms < until_ms ? old : undefined];
  return secrets.filter((secret) => secret !== undefined);
}
