/**
 * What a process remembers of each key's last verdict, so that a key that no longer works causes no work.
 *
 * - A key is confirmed once Redis has admitted it: its calls are prepared first, then admitted and charged in one step.
 * - Any other key is unconfirmed: Redis is asked before any work is done.
 * - A key that is bound to address ranges or origins has a standing for each place that it is used from; where it is not
 *   allowed, it stays unconfirmed.
 * - A key refused often within a second is refused without Redis for the rest of it. Fewer refusals are confirmed by
 *   Redis each time, so that a restored account works from the next request on.
 */
import { BoundedCache } from '../../../data/runtime/bounded-cache.ts';
import type { ApiKey, KeyStanding, Verdict } from './metering.ts';

const REMEMBERED_MS = 1_000;
/** Refusals within that time that Redis confirms. */
const CONFIRMED_REFUSALS = 20;
const REMEMBERED_KEYS = 50_000;

interface Refusals {
  /** When the first of them was given. */
  since_ms: number;
  count: number;
  /** Whether the last of them was for a suspended account. */
  isSuspended: boolean;
}

export class KeyStandings {
  /** By key, or by key and place: null when last admitted. */
  readonly #last = new BoundedCache<Refusals | null>(REMEMBERED_KEYS);

  /** @param user names the key, and the place of one that is bound */
  of({ expires_at_ms }: ApiKey, user: string, now_ms: number): KeyStanding {
    const last = this.#last.get(user);
    if (last === undefined) return 'unconfirmed';
    if (last === null) return expires_at_ms !== null && now_ms >= expires_at_ms ? 'unconfirmed' : 'confirmed';
    if (last.count < CONFIRMED_REFUSALS || !isRecent(last, now_ms)) return 'unconfirmed';
    return last.isSuspended ? 'suspended' : 'refused';
  }

  note(user: string, verdict: Verdict, now_ms: number): void {
    const last = this.#last.get(user);
    if (verdict.kind === 'restricted') this.#last.delete(user);
    else if (verdict.kind !== 'invalid_key') {
      if (last !== null) this.#last.set(user, null);
    } else if (last && isRecent(last, now_ms)) {
      last.count += 1;
      last.isSuspended = verdict.isSuspended;
    } else this.#last.set(user, { since_ms: now_ms, count: 1, isSuspended: verdict.isSuspended });
  }
}

/** False also for a time that lies ahead, after the clock was set back. */
const isRecent = ({ since_ms }: Refusals, now_ms: number): boolean =>
  now_ms >= since_ms && now_ms - since_ms < REMEMBERED_MS;
