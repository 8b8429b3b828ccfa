/** The rules of a key: checked as people write them, stored as `admit.lua` reads them. */
import { monthOf } from '../../../data/schema/redis-keys.ts';
import { readableRange, storedRange } from '../../api/metering/metering.ts';
import {
  AccountError,
  type Hash,
  type KeyRecord,
  type KeyRules,
  numberOr,
  validateCredits,
} from '../store/store.ts';

export const NO_RULES: KeyRules = { monthly_limit: null, ranges: [], origins: [] };
const MAX_RANGES = 20;
const MAX_ORIGINS = 20;
const MAX_ORIGIN_LENGTH = 255;

/** As fields of the account's `keys` hash. */
interface StoredRules {
  limit: number | '';
  ranges: string;
  origins: string;
}

/** @throws {AccountError} `bad_input` */
export function storedRules({ monthly_limit, ranges, origins }: KeyRules): StoredRules {
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

/** @param field reads a field of the key */
function rulesFrom(field: (name: keyof StoredRules) => string | undefined): KeyRules {
  const limit = field('limit') ?? '';
  return {
    monthly_limit: limit === '' ? null : Number(limit),
    ranges: splitItems(field('ranges')).map(readableRange),
    origins: splitItems(field('origins')),
  };
}

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

const badInput = (message: string): AccountError => new AccountError('bad_input', message);

/** The keys of an account, oldest first, from its hash with fields `<key id>:<name>`. */
export function keysFrom(hash: Hash, now_ms: number): KeyRecord[] {
  const keys = Object.keys(hash)
    .filter((field) => field.endsWith(':state'))
    .map((field) => keyFrom(field.slice(0, -':state'.length), hash, now_ms));
  return keys.sort((a, b) => a.created_at_ms - b.created_at_ms || (a.key_id < b.key_id ? -1 : 1));
}

function keyFrom(key_id: string, hash: Hash, now_ms: number): KeyRecord {
  const field = (name: string): string | undefined => hash[`${key_id}:${name}`];
  const expires_at_ms = numberOr(field('expires_at_ms'), null);
  const isExpired = expires_at_ms !== null && expires_at_ms <= now_ms;
  const isActive = field('state') === 'active';
  return {
    key_id,
    environment: field('environment') ?? 'live',
    label: field('label') ?? '',
    last4: field('last4') ?? '',
    state: isActive ? (isExpired ? 'expired' : 'active') : 'revoked',
    created_at_ms: numberOr(field('created_at_ms'), 0),
    expires_at_ms,
    revoked_at_ms: numberOr(field('revoked_at_ms'), null),
    last_used_at_ms: numberOr(field('last_used_ms'), null),
    by: field('by') ?? '',
    ...rulesFrom(field),
    month_credits: creditsOfMonth(field('month'), now_ms),
    replaces: field('replaces') ?? null,
    replaced_by: field('replaced_by') ?? null,
    counted_with: field('counted_with') ?? null,
  };
}

/** Credits of the current month, from `2026-11=120`. The month of a key can lie ahead: see admit.lua. */
export function creditsOfMonth(latest = '', now_ms: number): number {
  const [month = '', credits] = latest.split('=');
  return month >= monthOf(now_ms) ? numberOr(credits, 0) : 0;
}
