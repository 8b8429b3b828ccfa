/** The rules of a key: checked as people write them, stored as `admit.lua` reads them. */
import { monthOf } from '../../../data/schema/redis-keys.ts';
import { readableRange, storedRange } from '../../api/metering/metering.ts';
import {
  badInput,
  type Hash,
  type KeyRules,
  numberOr,
  type ReadField,
  recordsIn,
  validateCredits,
} from '../store/store.ts';

export const NO_RULES: KeyRules = { monthly_limit: null, ranges: [], origins: [] };
const MAX_RANGES = 20;
const MAX_ORIGINS = 20;
const MAX_ORIGIN_LENGTH = 255;

/** As fields of the account's `keys` hash. @throws {AccountError} `bad_input` */
export function storedRules({ monthly_limit, ranges, origins }: KeyRules) {
  if (origins.length > 0 && monthly_limit === null)
    throw badInput(
      'A key for browsers needs a monthly limit: everybody who opens the page can read the key.',
    );
  return {
    limit: monthly_limit === null ? '' : validateCredits(monthly_limit, 1),
    ranges: parseList(ranges, { most: MAX_RANGES, what: 'address ranges' }, parseRange),
    origins: parseList(origins, { most: MAX_ORIGINS, what: 'origins' }, parseOrigin),
  };
}

const rulesFrom = (field: ReadField): KeyRules => ({
  monthly_limit: numberOr(field('limit'), null),
  ranges: splitItems(field('ranges')).map(readableRange),
  origins: splitItems(field('origins')),
});

/** What the audit log keeps of rules: no address and no site, which an erasure could not remove from there. */
export const auditedRules = ({ monthly_limit, ranges, origins }: KeyRules) => ({
  monthly_limit,
  ranges: ranges.length,
  origins: origins.length,
});

const splitItems = (text = ''): string[] => text.split(' ').filter(Boolean);

/** Separated by spaces, each once. */
function parseList(
  texts: readonly string[],
  { most, what }: { most: number; what: string },
  read: (text: string) => string,
): string {
  const items = [...new Set(texts.map(read))];
  if (items.length > most) throw badInput(`A key can have at most ${most} ${what}, not ${items.length}.`);
  return items.join(' ');
}

function parseRange(text: string): string {
  try {
    return storedRange(text);
  } catch (error) {
    throw error instanceof RangeError ? badInput(error.message) : error;
  }
}

/** As browsers send it: scheme, host and port, without a path. */
function parseOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:';
  if (url === null || !isWeb || text.toLowerCase().replace(/\/$/, '') !== url.origin)
    throw badInput(`"${text}" is not a web origin such as https://example.org or http://localhost:3000.`);
  if (url.origin.length > MAX_ORIGIN_LENGTH) throw badInput(`"${text}" is longer than ${MAX_ORIGIN_LENGTH}.`);
  return url.origin;
}

/** The keys of an account, oldest first, from its hash with fields `<key id>:<name>`. */
export const keysFrom = (hash: Hash, now_ms: number): KeyRecord[] =>
  recordsIn(hash, 'state', (key_id, field) => keyFrom(key_id, field, now_ms));

/** Contains no secret. */
export type KeyRecord = ReturnType<typeof keyFrom>;

function keyFrom(key_id: string, field: ReadField, now_ms: number) {
  const expires_at_ms = numberOr(field('expires_at_ms'), null);
  const isExpired = expires_at_ms !== null && expires_at_ms <= now_ms;
  const state: 'active' | 'revoked' | 'expired' =
    field('state') !== 'active' ? 'revoked' : isExpired ? 'expired' : 'active';
  return {
    key_id,
    environment: field('environment') ?? 'live',
    label: field('label') ?? '',
    last4: field('last4') ?? '',
    state,
    created_at_ms: numberOr(field('created_at_ms'), 0),
    /** For a key that was replaced, the end of its grace period at the latest. */
    expires_at_ms,
    revoked_at_ms: numberOr(field('revoked_at_ms'), null),
    /** Precise to one second. */
    last_used_at_ms: numberOr(field('last_used_ms'), null),
    /** Id of the person who made it. */
    by: field('by') ?? '',
    ...rulesFrom(field),
    /** Credits charged to it in the current UTC month. */
    month_credits: creditsOfMonth(field('month'), now_ms),
    /** Ids of the keys before and after it in a rotation. */
    replaces: field('replaces') ?? null,
    replaced_by: field('replaced_by') ?? null,
    /** Id of the key whose month and limit its calls count for, after it was replaced. */
    counted_with: field('counted_with') ?? null,
  };
}

/** Credits of the current month, from `2026-11=120`. The month of a key can lie ahead: see admit.lua. */
export function creditsOfMonth(latest = '', now_ms: number): number {
  const [month = '', credits] = latest.split('=');
  return month >= monthOf(now_ms) ? numberOr(credits, 0) : 0;
}
