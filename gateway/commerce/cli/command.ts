/** What the commands of `npm run account` share: their shape, option values, and audited changes. */
import type { RedisClient } from '../../../data/runtime/redis.ts';
import type { Settings } from '../../../data/runtime/settings.ts';
import type { AccountStore } from '../accounts/accounts.ts';
import { type Archive, type AuditedChange, AuditLog, type AuditOutcome } from '../history/history.ts';

export const BY = 'command line';

/** The command line is not valid; the message says what was expected. */
export class UsageError extends Error {
  override name = 'UsageError';
}

export interface CommandContext {
  store: AccountStore;
  redis: RedisClient;
  settings: Settings;
  archive: Archive;
}

export type OptionValues = Readonly<Record<string, string | boolean | undefined>>;

/** A command that needs only part of the context can be run with that part. */
export interface Command<Context = CommandContext> {
  help: string;
  options: Readonly<Record<string, { type: 'string' | 'boolean'; value?: string; help: string }>>;
  /** Returns the JSON object to print. @throws {AccountError} @throws {UsageError} */
  run(context: Context, values: OptionValues): Promise<Record<string, unknown>>;
}

export const email = { type: 'string', value: 'ADDRESS', help: 'whose account' } as const;

/** @throws {UsageError} */
export function requiredText(values: OptionValues, name: string): string {
  const value = values[name];
  if (typeof value === 'string' && value.trim() !== '') return value.trim();
  throw new UsageError(`--${name} is required.`);
}

export function optionalText(values: OptionValues, name: string): string | undefined {
  return values[name] === undefined ? undefined : requiredText(values, name);
}

/** @throws {UsageError} */
export function requiredCount(values: OptionValues, name: string): number {
  const text = requiredText(values, name);
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`--${name} takes a whole number, not "${text}".`);
}

export async function findAccountId({ store }: CommandContext, values: OptionValues): Promise<string> {
  const { account_id } = await store.findByEmail(requiredText(values, 'email'));
  return account_id;
}

/** Makes a change and audits it as a change of the command line. */
export function auditedChange<Result>(
  redis: RedisClient,
  change: Pick<AuditedChange, 'action' | 'subject'> & Partial<AuditedChange>,
  work: () => Promise<Result>,
  describe?: (result: Result) => AuditOutcome | null,
): Promise<Result> {
  return new AuditLog(redis, Date.now).attempt({ ...change, by: BY }, work, describe);
}

/** ISO 8601 in UTC. */
export const formatTime = (time_ms: number | null): string | null =>
  time_ms === null ? null : new Date(time_ms).toISOString();
