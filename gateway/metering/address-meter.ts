/**
 * Anonymous requests, counted per address in fixed UTC minutes and days.
 *
 * A gateway leases allowance from Redis: about a second's worth of the minute at a time. With 30 a minute every
 * request is its own lease; with a large limit almost all are decided here and at once. What several gateways lease
 * together never exceeds the limit, and near the limit leases are single requests, so that none of them holds back what
 * another could use. A lease ends with its minute; what was not used of it is lost to the day.
 *
 * An address that is over is refused here without a round trip until its window ends. Redis away, or slow to answer:
 * the request is admitted uncounted, and for a moment Redis is not asked at all.
 */

import { isIPv4, isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { readScript, type ScriptRunner } from '../../data/runtime/redis-scripts.ts';
import { DAY_MS, dayOf, MINUTE_MS, minuteOf, redisKeys } from '../../data/schema/redis-keys.ts';
import { type AnonymousVerdict, secondsUntil } from './metering.ts';

const MAPPED_PREFIX = '0:0:0:0:0:ffff:';

/** The canonical text of the unit. Text that is no address counts as itself, cut to a bounded length. */
export function addressUnit(address: string): string {
  if (isIPv4(address)) return address;
  const [bare = ''] = address.split('%', 1);
  if (!isIPv6(bare)) return address.slice(0, 64);
  const groups = expand(bare);
  const text = groups.map((group) => group.toString(16)).join(':');
  if (text.startsWith(MAPPED_PREFIX)) return dotted(groups[6] ?? 0, groups[7] ?? 0);
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

const dotted = (high: number, low: number): string => `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;

/** The eight 16-bit groups of a valid IPv6 address. */
function expand(address: string): number[] {
  const [head = '', tail] = address.split('::');
  const front = groupsOf(head);
  if (tail === undefined) return front;
  const back = groupsOf(tail);
  return [...front, ...new Array<number>(8 - front.length - back.length).fill(0), ...back];
}

function groupsOf(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((part) => {
    if (!part.includes('.')) return Number.parseInt(part, 16);
    const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}

const ADDRESS = readScript(import.meta.url, 'lua/address.lua', 2);
const REMEMBERED_ADDRESSES = 50_000;
/** Nobody waits longer than this to be counted. */
export const COUNT_TIMEOUT_MS = 250;
/** After Redis did not answer in time it is left alone this long. */
const QUIET_MS = 1_000;

const ADMITTED: AnonymousVerdict = { kind: 'admitted' };

/** What this gateway may still admit of one address in one minute. */
interface Allowance {
  minute: number;
  left: number;
  /** A lease under way, which later requests wait for when it may serve more than one. */
  leasing: Promise<AnonymousVerdict> | null;
}

/** All addresses of one unit. */
interface Caller {
  unit: string;
  allowance: Allowance;
  /** When a limit that was reached ends. */
  overUntil_ms: number;
}

interface Dependencies {
  redis: RedisClient;
  runner: ScriptRunner;
  now: () => number;
  per_minute: number;
  per_day: number;
  /** How long Redis may take to count a request. */
  timeout_ms: number;
}

export class AddressMeter {
  readonly #dependencies: Dependencies;
  readonly #lease: number;
  readonly #callers = new LRUCache<string, Caller>({ max: REMEMBERED_ADDRESSES });
  /** The same by address, because to find the unit of an address costs more than to look it up. */
  readonly #byAddress = new LRUCache<string, Caller>({ max: REMEMBERED_ADDRESSES });
  #quietUntil_ms = 0;
  #uncounted = 0;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#lease = Math.max(1, Math.floor(dependencies.per_minute / 60));
  }

  /** Requests that were admitted though Redis had not counted them. */
  get uncounted(): number {
    return this.#uncounted;
  }

  admit(address: string, now_ms: number): AnonymousVerdict | Promise<AnonymousVerdict> {
    const caller = this.#byAddress.get(address) ?? this.#meet(address);
    if (now_ms < caller.overUntil_ms) return refusal(caller.overUntil_ms, now_ms);
    const minute = minuteOf(now_ms);
    // A new one, since a lease under way gives what it leases to the one of its own minute.
    if (caller.allowance.minute !== minute) caller.allowance = { minute, left: 0, leasing: null };
    const { allowance } = caller;
    if (allowance.left > 0) {
      allowance.left--;
      return ADMITTED;
    }
    if (this.#dependencies.redis.status !== 'ready' || now_ms < this.#quietUntil_ms)
      return this.#letThrough();
    return this.#lease === 1 ? this.#leaseFor(caller, allowance, now_ms) : this.#share(caller, now_ms);
  }

  #meet(address: string): Caller {
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

  /** Takes one out of a lease that others wait for too; when it was used up before, leases again. */
  async #share(caller: Caller, now_ms: number): Promise<AnonymousVerdict> {
    const { allowance } = caller;
    while (allowance.leasing) {
      const verdict = await allowance.leasing;
      if (verdict.kind === 'rate_limited') return verdict;
      if (allowance.left > 0) {
        allowance.left--;
        return verdict;
      }
      if (this.#dependencies.now() < this.#quietUntil_ms) return this.#letThrough();
    }
    allowance.leasing = this.#leaseFor(caller, allowance, now_ms).finally(() => {
      allowance.leasing = null;
    });
    return allowance.leasing;
  }

  /** One round trip: the request itself, and what is leased beyond it. */
  async #leaseFor(caller: Caller, allowance: Allowance, now_ms: number): Promise<AnonymousVerdict> {
    const { runner, per_minute, per_day, timeout_ms } = this.#dependencies;
    const minute = redisKeys.addressMinute(caller.unit, minuteOf(now_ms));
    const day = redisKeys.addressDay(caller.unit, dayOf(now_ms));
    const asked = runner.run(ADDRESS, [minute, day, per_minute, per_day, this.#lease]).catch(() => null);
    const reply = await inTime(asked, timeout_ms);
    if (!Array.isArray(reply)) {
      this.#quietUntil_ms = this.#dependencies.now() + QUIET_MS;
      return this.#letThrough();
    }
    const [leased, full] = reply;
    if (Number(leased) > 0) {
      allowance.left += Number(leased) - 1;
      return ADMITTED;
    }
    const end_ms = full === 'day' ? (dayOf(now_ms) + 1) * DAY_MS : (minuteOf(now_ms) + 1) * MINUTE_MS;
    caller.overUntil_ms = end_ms;
    return refusal(end_ms, now_ms);
  }

  #letThrough(): AnonymousVerdict {
    this.#uncounted++;
    return ADMITTED;
  }
}

const refusal = (end_ms: number, now_ms: number): AnonymousVerdict => ({
  kind: 'rate_limited',
  retry_after_s: secondsUntil(end_ms, now_ms),
});

/**
 * What a command gives, or null when it has not by then. The time begins when the command leaves, at the end of this
 * turn, and before it ends what has come meanwhile is read: that this process was busy is no sign that Redis is slow.
 */
function inTime<T>(command: Promise<T>, limit_ms: number): Promise<T | null> {
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
