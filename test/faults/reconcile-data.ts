/**
 * A synthetic year of archive in the layout of `data/schema/archive.ts`, and a matching Redis. Each account gets one
 * grant, calls on every fifth day and today; all totals agree.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { RedisClient } from '../../data/runtime/redis.ts';

export const ACCOUNTS = 100_000;
export const DAYS = 365;
const DAY_MS = 86_400_000;
/** Days of usage that are still in Redis. */
const LIVE_USAGE_DAYS = 100;
/** Each account calls on every fifth day. */
const TURNS = 5;
const ENTRIES_A_DAY = 5;
const GRANT = 1_000;
const LIVE_DEBITS = 2;
const ENTRIES_EACH = (DAYS / TURNS) * ENTRIES_A_DAY;
export const ENTRIES = ACCOUNTS * ENTRIES_EACH;

const FIRST_DAY = Math.floor(Date.UTC(2025, 10, 18) / DAY_MS);
const TODAY = FIRST_DAY + DAYS + 1;
/** Noon of the second day after the year. */
export const NOW_MS = TODAY * DAY_MS + DAY_MS / 2;

export const accountId = (number: number): string => `acc_${String(number).padStart(16, '0')}`;
const dateOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);
const partOf = (day: number): string => `${dateOf(day).replaceAll('-', '')}T020000000Z-0000`;

/** The balance after entry `k` of an account follows from `k`. */
const entriesSql = (day: number): string => `
  SELECT
    'acc_' || lpad(a::VARCHAR, 16, '0') AS account_id,
    (${day * DAY_MS} + n * 3600000 + a % 1000)::BIGINT AS id_ms, 0::INTEGER AS id_seq,
    (${day * DAY_MS} + n * 3600000 + a % 1000)::BIGINT AS at_ms,
    if(k = 0, 'grant', 'debit') AS kind, if(k = 0, ${GRANT}, -1)::BIGINT AS delta, (${GRANT} - k)::BIGINT AS balance,
    if(k = 0, NULL, 'request-' || a || '-' || k) AS request, if(k = 0, NULL, '/v1/data') AS route,
    if(k = 0, NULL, 'key' || lpad(a::VARCHAR, 9, '0')) AS key, if(k = 0, NULL, 1)::BIGINT AS "rows",
    NULL::VARCHAR AS "order", if(k = 0, 'sign-up', NULL) AS "by", NULL::VARCHAR AS reason, NULL::VARCHAR AS more
  FROM (
    SELECT a, n, ${Math.floor((day - FIRST_DAY) / TURNS) * ENTRIES_A_DAY} + n AS k
    FROM (SELECT range * ${TURNS} + ${(day - FIRST_DAY) % TURNS} AS a FROM range(${ACCOUNTS / TURNS})), range(${ENTRIES_A_DAY}) AS calls(n)
  )
  ORDER BY account_id, id_ms`;

const ACCOUNTS_SQL = `
  SELECT account_id, count(*) AS entries, min(id_ms) AS first_ms, 0::INTEGER AS first_seq, max(id_ms) AS last_ms,
    0::INTEGER AS last_seq, max(at_ms) AS last_at_ms, arg_min(balance - delta, id_ms) AS opening,
    arg_max(balance, id_ms) AS closing
  FROM entries GROUP BY account_id ORDER BY account_id`;

const USAGE_SQL = `
  SELECT account_id, route, count(*) AS requests, 0::BIGINT AS errors, sum("rows")::BIGINT AS "rows", count(*) AS credits
  FROM entries WHERE route IS NOT NULL GROUP BY account_id, route ORDER BY account_id`;

async function withDuck(work: (run: (sql: string) => Promise<unknown>) => Promise<void>): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
  const connection = await instance.connect();
  await work((sql) => connection.run(sql));
  connection.closeSync();
  instance.closeSync();
}

/** Writes one ledger part and one usage file per day. */
export async function writeArchive(dir: string): Promise<void> {
  await mkdir(join(dir, 'usage'), { recursive: true });
  await withDuck(async (run) => {
    for (let day = FIRST_DAY; day < FIRST_DAY + DAYS; day += 1) {
      const part = join(dir, 'ledger', partOf(day));
      await mkdir(part, { recursive: true });
      await run(`CREATE OR REPLACE TABLE entries AS ${entriesSql(day)}`);
      await run(`COPY entries TO '${part}/entries.parquet' (FORMAT parquet, COMPRESSION zstd)`);
      await run(`COPY (${ACCOUNTS_SQL}) TO '${part}/accounts.parquet' (FORMAT parquet, COMPRESSION zstd)`);
      await run(
        `COPY (${USAGE_SQL}) TO '${dir}/usage/${dateOf(day)}.parquet' (FORMAT parquet, COMPRESSION zstd)`,
      );
    }
  });
}

/** Adds one credit to one entry in the middle of the year. @returns the number of its account */
export async function alterEntry(dir: string): Promise<number> {
  const day = FIRST_DAY + Math.floor(DAYS / 2);
  const victim = 10 * TURNS + ((day - FIRST_DAY) % TURNS);
  const file = join(dir, 'ledger', partOf(day), 'entries.parquet');
  const isIt = `account_id = '${accountId(victim)}' AND id_ms % ${DAY_MS} >= 7200000 AND id_ms % ${DAY_MS} < 10800000`;
  await withDuck(async (run) => {
    await run(
      `CREATE TABLE entries AS SELECT * REPLACE (if(${isIt}, delta + 1, delta) AS delta) FROM read_parquet('${file}')`,
    );
    await run(`COPY entries TO '${file}' (FORMAT parquet, COMPRESSION zstd)`);
  });
  return victim;
}

/** Creates many accounts in one call. */
const FILL = `
local from, to, accounts, turns, first_day, days, each, grant, live, today_ms, date, a_day, usage_from = unpack(ARGV)
local DATES = 13
for a = from, to do
  local id = string.format('acc_%016d', a)
  local tag = '{a:' .. id .. '}:'
  local last_day = first_day + days - turns + a % turns
  local last_ms = last_day * 86400000 + 4 * 3600000 + a % 1000
  local balance = grant - each + 1
  redis.call('ZADD', 'accounts', a, id)
  redis.call('HSET', tag .. 'account', 'state', 'active', 'verified', '1', 'paid', '0', 'email', id .. '@example.org',
    'name', '', 'created_at_ms', first_day * 86400000, 'granted', grant, 'spent', each - 1 + live, 'balance', balance - live)
  redis.call('HSET', tag .. 'carried', 'through', string.format('%.0f-0', last_ms), 'at_ms', string.format('%.0f', last_ms),
    'balance', balance, 'entries', each)
  for n = 1, live do
    redis.call('XADD', tag .. 'ledger', '*', 'at_ms', today_ms, 'kind', 'debit', 'delta', -1, 'balance', balance - n,
      'request', 'request-' .. a, 'route', '/v1/data', 'key', 'key', 'rows', 1)
  end
  redis.call('HSET', tag .. 'usage:' .. date, '/v1/data|requests', live, '/v1/data|rows', live, '/v1/data|credits', live)
  for day = usage_from, first_day + days - 1 do
    if (day - first_day) % turns == a % turns then
      redis.call('HSET', tag .. 'usage:' .. ARGV[DATES + 1 + day - usage_from],
        '/v1/data|requests', a_day, '/v1/data|rows', a_day, '/v1/data|credits', a_day)
    end
  end
end`;
const FILLED_AT_ONCE = 1_000;

/** The accounts after the archived year and two calls today. */
export async function fillRedis(redis: RedisClient): Promise<void> {
  const usageFrom = TODAY - LIVE_USAGE_DAYS;
  const facts = [
    ACCOUNTS,
    TURNS,
    FIRST_DAY,
    DAYS,
    ENTRIES_EACH,
    GRANT,
    LIVE_DEBITS,
    TODAY * DAY_MS,
    dateOf(TODAY),
    ENTRIES_A_DAY,
    usageFrom,
    ...Array.from({ length: LIVE_USAGE_DAYS }, (_, index) => dateOf(usageFrom + index)),
  ];
  for (let from = 0; from < ACCOUNTS; from += FILLED_AT_ONCE)
    await redis.eval(FILL, 0, from, from + FILLED_AT_ONCE - 1, ...facts);
}
