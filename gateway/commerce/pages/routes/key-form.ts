/** The fields of a key as its forms have them: label, last day, limit, and where the key may be used. */
import { z } from 'zod';
import { DAY_MS } from '../../../../data/schema/redis-keys.ts';
import { textField } from '../../../web/forms.ts';
import { MAX_LABEL_LENGTH } from '../../accounts/accounts.ts';
import { badInput, type KeyRules } from '../../store/store.ts';

const MAX_LIST_LENGTH = 6_000;

export const rulesForm = z.object({
  use: z.enum(['server', 'browser']).default('server'),
  limit: textField(20),
  ranges: textField(MAX_LIST_LENGTH),
  origins: textField(MAX_LIST_LENGTH),
});
export const keyForm = rulesForm.extend({ label: textField(MAX_LABEL_LENGTH), expires: textField(10) });

export type RulesFields = z.infer<typeof rulesForm>;
export type KeyFields = z.infer<typeof keyForm>;

export const NEW_KEY: KeyFields = {
  use: 'server',
  label: '',
  expires: '',
  limit: '',
  ranges: '',
  origins: '',
};

export const rulesFields = ({ monthly_limit, ranges, origins }: KeyRules): RulesFields => ({
  use: origins.length > 0 ? 'browser' : 'server',
  limit: monthly_limit === null ? '' : String(monthly_limit),
  ranges: ranges.join('\n'),
  origins: origins.join('\n'),
});

/** @throws {AccountError} `bad_input` that names the field */
export function parseRules({ use, limit, ranges, origins }: RulesFields): KeyRules {
  const allowed = splitItems(origins);
  if (use === 'browser' && (allowed.length === 0 || limit === ''))
    throw badInput('A key for browsers needs the origins of its pages and a monthly limit.');
  if (use === 'server' && allowed.length > 0)
    throw badInput('Web origins are for keys for browsers: choose "Pages in browsers", or leave them empty.');
  return { monthly_limit: parseLimit(limit), ranges: splitItems(ranges), origins: allowed };
}

/** Credits a month; null when blank. @throws {AccountError} `bad_input` */
export function parseLimit(limit: string): number | null {
  if (!/^\d{0,12}$/.test(limit) || limit === '0')
    throw badInput(`The monthly limit is a whole number of credits, at least 1, not "${limit}".`);
  return limit === '' ? null : Number(limit);
}

/** Unix milliseconds of the end of a UTC day; null when blank. @throws {AccountError} `bad_input` */
export function endOfDay(day: string): number | null {
  if (day === '') return null;
  const start_ms = /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(start_ms)) throw badInput(`"${day}" is not a date such as 2027-01-31.`);
  return start_ms + DAY_MS;
}

const splitItems = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);
