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
 */
import { isIPv4, isIPv6 } from 'node:net';
import { BoundedCache } from '../../../data/runtime/bounded-cache.ts';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { readScript, type ScriptRunner } from '../../../data/runtime/redis-scripts.ts';
import { DAY_MS, dayOf, MINUTE_MS, minuteOf, redisKeys } from '../../../data/schema/redis-keys.ts';
import { type AnonymousVerdict, secondsUntil } from './metering.ts';

const ADDRESS = readScript(import.meta.url, 'lua/address.lua', 2);
const CACHED_ADDRESSES = 50_000;
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
  readonly #callers = new BoundedCache<Caller>(CACHED_ADDRESSES);
  /** By address: the unit of an IPv6 address takes 5 µs to compute, the look-up 0.05 µs. */
  readonly #byAddress = new BoundedCache<Caller>(CACHED_ADDRESSES);
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
    const caller = this.#byAddress.get(address) ?? this.#callerOf(address);
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

  #callerOf(address: string): Caller {
    const unit = addressUnit(address);
    const caller = this.#callers.get(unit) ?? {
      unit,
      allowance: { minute: 0, left: 0, leasing: null },
      overUntil_ms: 0,
    };
    this.#callers.set(unit, caller);
    this.#byAddress.set(address, caller);
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

const MAPPED_PREFIX = '0:0:0:0:0:ffff:';

/**
 * What counts as one anonymous caller: an IPv4 address, or the /64 of an IPv6 address, because whoever has one address
 * of a /64 usually has all of them. IPv4 inside IPv6 (`::ffff:192.0.2.1`) counts as IPv4. Text that is no address counts
 * as itself, truncated.
 */
export function addressUnit(address: string): string {
  if (isIPv4(address)) return address;
  const [bare = ''] = address.split('%', 1);
  if (!isIPv6(bare)) return address.slice(0, 64);
  const groups = groupsOf(bare);
  if (groups.join(':').startsWith(MAPPED_PREFIX)) {
    const bytes = Buffer.from(
      groups
        .slice(6)
        .map((group) => group.padStart(4, '0'))
        .join(''),
      'hex',
    );
    return bytes.join('.');
  }
  return `${groups.slice(0, 4).join(':')}::/64`;
}

/** The eight groups of a valid IPv6 address, in lower-case hexadecimal without leading zeros. */
function groupsOf(address: string): string[] {
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [front = [], back = []] = canonical.split('::').map((part) => part.split(':').filter(Boolean));
  return [...front, ...new Array<string>(8 - front.length - back.length).fill('0'), ...back];
}
