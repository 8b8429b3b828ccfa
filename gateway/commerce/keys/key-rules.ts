/** The rules of a key: checked as people write them, stored as `admit.lua` reads them. */
import { readableRange, storedRange } from '../../api/metering/address-ranges.ts';
import { AccountError, type KeyRules } from '../records.ts';
import { validateCredits } from '../validation.ts';

export const NO_RULES: KeyRules = { monthly_limit: null, ranges: [], origins: [] };
export const MAX_RANGES = 20;
export const MAX_ORIGINS = 20;
const MAX_ORIGIN_LENGTH = 255;

/** As fields of the account's `keys` hash. */
export interface StoredRules {
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
    ranges: listOf(ranges, { most: MAX_RANGES, what: 'address ranges' }, rangeOf),
    origins: listOf(origins, { most: MAX_ORIGINS, what: 'origins' }, originOf),
  };
}

/** @param field reads a field of the key */
export function rulesFrom(field: (name: keyof StoredRules) => string | undefined): KeyRules {
  const limit = field('limit') ?? '';
  return {
    monthly_limit: limit === '' ? null : Number(limit),
    ranges: itemsOf(field('ranges')).map(readableRange),
    origins: itemsOf(field('origins')),
  };
}

/** What the audit log keeps of rules: no address and no site, which an erasure could not remove from there. */
export const auditedRules = ({ monthly_limit, ranges, origins }: KeyRules) => ({
  monthly_limit,
  ranges: ranges.length,
  origins: origins.length,
});

const itemsOf = (text = ''): string[] => text.split(' ').filter(Boolean);

/** Separated by spaces, each once. */
function listOf(
  texts: readonly string[],
  { most, what }: { most: number; what: string },
  read: (text: string) => string,
): string {
  const items = [...new Set(texts.map(read))];
  if (items.length > most) throw badInput(`A key can have at most ${most} ${what}, not ${items.length}.`);
  return items.join(' ');
}

function rangeOf(text: string): string {
  try {
    return storedRange(text);
  } catch (error) {
    throw error instanceof RangeError ? badInput(error.message) : error;
  }
}

/** As browsers send it: scheme, host and port, without a path. */
function originOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:';
  if (url === null || !isWeb || text.toLowerCase().replace(/\/$/, '') !== url.origin)
    throw badInput(`"${text}" is not a web origin such as https://example.org or http://localhost:3000.`);
  if (url.origin.length > MAX_ORIGIN_LENGTH) throw badInput(`"${text}" is longer than ${MAX_ORIGIN_LENGTH}.`);
  return url.origin;
}

const badInput = (message: string): AccountError => new AccountError('bad_input', message);
