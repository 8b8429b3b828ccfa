/** An account with a long ledger, and its data export prepared by a program of its own. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { DAY_MS, redisKeys } from '../../../data/schema/redis-keys.ts';
import { AccountStore } from '../../../gateway/commerce/accounts/account-store.ts';
import { PrivacyRequestStore } from '../../../gateway/commerce/privacy/request-store.ts';

const PROGRAM = new URL('./prepare-export.ts', import.meta.url).pathname;
const ADDED_AT_ONCE = 4_000;

/** Debits as the admission script writes them, a millisecond apart. */
const DEBITS = `
local stream, account, count = KEYS[1], KEYS[2], tonumber(ARGV[1])
local balance = tonumber(redis.call('HGET', account, 'balance'))
local at_ms = tonumber(ARGV[2])
for n = 1, count do
  local id = string.format('%.0f', at_ms + n)
  redis.call('XADD', stream, id .. '-0', 'at_ms', id, 'kind', 'debit', 'delta', -1, 'balance', balance - n,
    'request', 'req_' .. redis.sha1hex(id), 'route', '/v1/countries/{iso3}', 'key', 'k' .. string.sub(id, -11), 'rows', n % 60)
end
redis.call('HINCRBY', account, 'balance', -count)
redis.call('HINCRBY', account, 'spent', count)`;

export interface Prepared {
  status: string;
  plan: string;
  seconds: number;
  base_mb: number;
  peak_mb: number;
  longest_ms: number;
  p99_ms: number;
}

/** @returns the id of an account that was granted credits a day ago */
export async function openLedger(redis: RedisClient, credits: number): Promise<string> {
  const now = () => Date.now() - DAY_MS;
  const accounts = new AccountStore({ redis, now, random: randomBytes, packs: [] });
  const email = `long-${randomBytes(4).toString('hex')}@example.org`;
  const { account_id } = await accounts.create({ email, verified: true, credits, by: 'test' });
  return account_id;
}

/** Adds debits. @param begins_ms later than every entry of the ledger */
export async function addDebits(
  redis: RedisClient,
  account_id: string,
  count: number,
  begins_ms = Date.now(),
): Promise<void> {
  const names = [redisKeys.ledger(account_id), redisKeys.account(account_id)];
  for (let added = 0; added < count; added += ADDED_AT_ONCE)
    await redis.eval(DEBITS, 2, ...names, Math.min(count - added, ADDED_AT_ONCE), begins_ms + added);
}

export async function requestExport(redis: RedisClient, account_id: string): Promise<string> {
  const requests = new PrivacyRequestStore({ redis, now: Date.now, random: randomBytes });
  return (await requests.open(account_id, 'export')).request_id;
}

/** Runs the preparation with a heap of at most `heap_mb`. Rejects if that does not suffice. */
export async function prepareExport(
  request_id: string,
  environment: Record<string, string>,
  heap_mb: number,
): Promise<Prepared> {
  const args = [`--max-old-space-size=${heap_mb}`, PROGRAM, request_id];
  const env = { LOG_LEVEL: 'silent', ...environment };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  return JSON.parse(stdout);
}
