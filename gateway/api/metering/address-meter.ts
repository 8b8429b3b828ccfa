/**
 * Counts anonymous requests by address in fixed UTC minutes and days.
 *
 * A gateway leases requests from Redis, a sixtieth of the minute's limit at a time: at 30 a minute every request is a
 * lease of its own, at large limits most requests need no round trip. The leases of all gateways together never exceed
 * the limit. Near the limit a lease is a single request, so that no gateway holds back what another could use. A lease
 * ends with its minute; its unused rest still counts for the day.
 *
 * An address over its limit is rejected without a round trip until the window ends. When Redis is unavailable or slow,
 * requests are admitted uncounted, and Redis is left alone for a second.
 *
 * Files that are taken without a key are counted in fixed UTC hours: different ones, since a repeat is free.
 */
import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { readScript, type ScriptRunner } from '../../../data/runtime/redis-scripts.ts';
import { DAY_MS, dayOf, HOUR_MS, MINUTE_MS, minuteOf, redisKeys } from '../../../data/schema/redis-keys.ts';
import type { AnonymousVerdict } from './admission.ts';
import { secondsUntil } from './admit-script.ts';

const ADDRESS = readScript(import.meta.url, 'lua/address.lua', 2);
const DOWNLOAD = readScript(import.meta.url, 'lua/download.lua', 1);
const CACHED_CALLERS = 50_000;
/** An address with a zone is shorter. */
const UNIT_MAX_LENGTH = 64;
/** Longest wait for Redis to count a request. */
export const COUNT_TIMEOUT_MS = 250;
/** After a timeout Redis is not asked for this long. */
const PAUSE_MS = 1_000;

const ADMITTED: AnonymousVerdict = { kind: 'admitted' };

/** What this gateway may still admit of one caller in one minute. */
interface Allowance {
  minute: number;
  left: number;
  /** A pending lease, which later requests may share. */
  leasing: Promise<AnonymousVerdict> | null;
}

/** The state of one unit. */
interface Caller {
  unit: string;
  allowance: Allowance;
  /** When the used-up window ends. */
  overUntil_ms: number;
}

interface Dependencies {
  redis: RedisClient;
  runner: ScriptRunner;
  now: () => number;
  per_minute: number;
  per_day: number;
  timeout_ms: number;
  /** Set apart from the requests that other meters count. */
  prefix?: string;
}

export class AddressMeter {
  readonly #dependencies: Dependencies;
  readonly #lease: number;
  /** By unit. */
  readonly #callers = new LRUCache<string, Caller>({ max: CACHED_CALLERS });
  #pausedUntil_ms = 0;
  #uncounted = 0;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#lease = Math.max(1, Math.floor(dependencies.per_minute / 60));
  }

  /** Requests that were admitted uncounted. */
  get uncounted(): number {
    return this.#uncounted;
  }

  admit(address: string, now_ms: number): AnonymousVerdict | Promise<AnonymousVerdict> {
    const caller = this.#callerOf(addressUnit(address));
    if (now_ms < caller.overUntil_ms) return rateLimited(caller.overUntil_ms, now_ms);
    const minute = minuteOf(now_ms);
    // A new object, because a pending lease adds to the allowance of its own minute.
    if (caller.allowance.minute !== minute) caller.allowance = { minute, left: 0, leasing: null };
    const { allowance } = caller;
    if (allowance.left > 0) {
      allowance.left--;
      return ADMITTED;
    }
    if (this.#dependencies.redis.status !== 'ready' || now_ms < this.#pausedUntil_ms)
      return this.#admitUncounted();
    return this.#lease === 1 ? this.#leaseFor(caller, allowance, now_ms) : this.#shareLease(caller, now_ms);
  }

  #callerOf(unit: string): Caller {
    const known = this.#callers.get(unit);
    if (known !== undefined) return known;
    const caller = { unit, allowance: { minute: 0, left: 0, leasing: null }, overUntil_ms: 0 };
    this.#callers.set(unit, caller);
    return caller;
  }

  /** Takes one request out of the pending lease, or starts the next one. */
  async #shareLease(caller: Caller, now_ms: number): Promise<AnonymousVerdict> {
    const { allowance } = caller;
    while (allowance.leasing) {
      const verdict = await allowance.leasing;
      if (verdict.kind === 'rate_limited') return verdict;
      if (allowance.left > 0) {
        allowance.left--;
        return verdict;
      }
      if (this.#dependencies.now() < this.#pausedUntil_ms) return this.#admitUncounted();
    }
    allowance.leasing = this.#leaseFor(caller, allowance, now_ms).finally(() => {
      allowance.leasing = null;
    });
    return allowance.leasing;
  }

  /** Leases in one round trip: this request and, at large limits, more. */
  async #leaseFor(caller: Caller, allowance: Allowance, now_ms: number): Promise<AnonymousVerdict> {
    const { runner, per_minute, per_day, timeout_ms, prefix = '' } = this.#dependencies;
    const counted = prefix + caller.unit;
    const minute = redisKeys.addressMinute(counted, minuteOf(now_ms));
    const day = redisKeys.addressDay(counted, dayOf(now_ms));
    const command = runner.run(ADDRESS, [minute, day, per_minute, per_day, this.#lease]).catch(() => null);
    const reply = await withTimeout(command, timeout_ms);
    if (!Array.isArray(reply)) {
      this.#pausedUntil_ms = this.#dependencies.now() + PAUSE_MS;
      return this.#admitUncounted();
    }
    const [leased, full] = reply;
    if (Number(leased) > 0) {
      allowance.left += Number(leased) - 1;
      return ADMITTED;
    }
    const end_ms = full === 'day' ? (dayOf(now_ms) + 1) * DAY_MS : (minuteOf(now_ms) + 1) * MINUTE_MS;
    caller.overUntil_ms = end_ms;
    return rateLimited(end_ms, now_ms);
  }

  #admitUncounted(): AnonymousVerdict {
    this.#uncounted++;
    return ADMITTED;
  }
}

/** Different files that an address may take in an hour. */
export const DOWNLOADS_PER_HOUR = 30;

/**
 * One script decides, so that concurrent requests at any number of gateways never pass the limit.
 * @param file digest of what is asked for
 */
export async function admitDownload(
  { redis, runner, timeout_ms }: Pick<Dependencies, 'redis' | 'runner' | 'timeout_ms'>,
  address: string,
  file: string,
  now_ms: number,
): Promise<AnonymousVerdict> {
  if (redis.status !== 'ready') return ADMITTED;
  const hour = Math.floor(now_ms / HOUR_MS);
  const key = redisKeys.addressDownloads(addressUnit(address), hour);
  const counted = runner.run(DOWNLOAD, [key, file, DOWNLOADS_PER_HOUR]).catch(() => null);
  const isOver = (await withTimeout(counted, timeout_ms)) === 0;
  return isOver ? rateLimited((hour + 1) * HOUR_MS, now_ms) : ADMITTED;
}

const rateLimited = (end_ms: number, now_ms: number): AnonymousVerdict => ({
  kind: 'rate_limited',
  retry_after_s: secondsUntil(end_ms, now_ms),
});

/**
 * The reply of a command, or null after the timeout. The time starts when the command is sent, at the end of this turn
 * of the event loop, and replies that have arrived are read before it ends: a busy process is no sign of a slow Redis.
 */
function withTimeout<T>(command: Promise<T>, limit_ms: number): Promise<T | null> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    const begin = setImmediate(() => {
      timer = setTimeout(() => setImmediate(resolve, null), limit_ms);
    });
    command.then((value) => {
      clearImmediate(begin);
      clearTimeout(timer);
      resolve(value);
    });
  });
}

/** Working out the unit of an IPv6 address takes 9 µs, a look-up 0.04 µs. */
const units = new LRUCache<string, string>({ max: CACHED_CALLERS, memoMethod: unitOf });

/**
 * What counts as one anonymous caller: an IPv4 address, or the /64 of an IPv6 address, because whoever has one address
 * of a /64 usually has all of them. IPv4 inside IPv6 (`::ffff:192.0.2.1`) counts as IPv4. Text that is no address counts
 * as itself, truncated.
 */
export function addressUnit(address: string): string {
  return isIPv4(address) ? address : units.memo(address.slice(0, UNIT_MAX_LENGTH));
}

function unitOf(address: string): string {
  const [bare = ''] = address.split('%', 1);
  if (!ipaddr.IPv6.isValid(bare)) return address;
  const parsed = ipaddr.process(bare);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const groups = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${groups.join(':')}::/64`;
}
