/** The hash `{a:ID}:webhooks` of an account: its endpoints. */
import { type Hash, numberOr, type ReadField, recordsIn } from '../../store/store.ts';

export const MAX_ENDPOINTS = 10;

/** Oldest first. */
export const endpointsFrom = (hash: Hash) => recordsIn(hash, 'url', endpointFrom);
export type WebhookEndpoint = ReturnType<typeof endpointFrom>;

/** Contains no secret. Times are Unix milliseconds. */
function endpointFrom(endpoint_id: string, field: ReadField) {
  const reason = field('disabled_because') || null;
  const state: 'enabled' | 'disabled' = reason === null ? 'enabled' : 'disabled';
  return {
    endpoint_id,
    url: field('url') ?? '',
    /** Types of events; see `catalogue.ts`. */
    types: (field('types') ?? '').split(' '),
    state,
    /** `gone`: it answered 410; `failures`: it failed for days; null while it is enabled. */
    disabled_because: reason as 'gone' | 'failures' | null,
    disabled_at_ms: numberOr(field('disabled_at_ms'), null),
    /** The first failed attempt since the last successful one. */
    failing_since_ms: numberOr(field('failing_since_ms'), null),
    created_at_ms: numberOr(field('created_at_ms'), 0),
    /** Id of the person who made it. */
    by: field('by') ?? '',
    /** Until when the former secret signs too; null without one. */
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
