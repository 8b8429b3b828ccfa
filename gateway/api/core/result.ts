/** How a call ends: what every adapter tells its caller. */

import {
  type ApiKey,
  type CallSource,
  DOWNLOADS_PER_HOUR,
  type KeyRestriction,
  type Verdict,
} from '../metering/metering.ts';
import { invalid, type ValidationDetail } from '../operations/operations.ts';
import type { Edition } from '../snapshot/snapshot.ts';
import { type ApiError, truncateInput } from './errors.ts';
import { type PlannedLease, tooDear } from './plan-call.ts';

/** Quota and balance after a call with a valid key. */
export type QuotaStatus = ReturnType<typeof quotaOf>;

export interface ResultContext {
  /** The key that was presented, once it was recognised; for logs. */
  key_id: string | null;
  /** Null for anonymous calls, and where the key was refused. */
  quota: QuotaStatus | null;
  /** The edition that answers; null while none is open. */
  snapshot: Pick<Edition, 'id'> | null;
}

export type Result<Rendered> = ResultContext &
  /** `onFault` takes back the charge of an answer that breaks while it is sent; it never rejects. */
  (
    | { kind: 'success'; rendered: Rendered; onFault?: (fault: unknown) => Promise<void> }
    | { kind: 'error'; error: ApiError }
    | { kind: 'invalid'; detail: ValidationDetail[] }
  );

export type Admitted = Verdict & { kind: 'admitted' };

export const TOKEN_ELSEWHERE: ApiError = {
  code: 'invalid_key',
  message: 'This is an access token for /mcp and valid there alone. Here, send an API key.',
};

export const anonymous = (snapshot: Pick<Edition, 'id'> | null): ResultContext => ({
  key_id: null,
  quota: null,
  snapshot,
});

/** The refusal of one file more without a key. */
export function downloadsOver(retryAfter_s: number, now_ms: number): ApiError {
  const until = new Date(now_ms + retryAfter_s * 1000).toISOString().slice(11, 16);
  const message =
    `${DOWNLOADS_PER_HOUR} different files were taken from your address within this hour, which is as many as are free. ` +
    `Each of them can be taken again now, and others from ${until} UTC on. With a key, the API has no such limit.`;
  return { code: 'rate_limited', message, retryAfter_s };
}

/** A verdict that tells quota and balance: the key may be used. */
type KnownCaller = Exclude<Verdict, { kind: 'invalid_key' | 'restricted' | 'feed_over' }>;

/** Whether the key is refused as such, whatever is asked for. */
export const isKeyRefused = (verdict: Verdict): verdict is Exclude<Verdict, KnownCaller> =>
  verdict.kind === 'invalid_key' || verdict.kind === 'restricted' || verdict.kind === 'feed_over';

export function quotaOf(verdict: KnownCaller) {
  const charged = verdict.kind === 'admitted' ? verdict.charged : 0;
  /** The call repeated an earlier one, and is free for that reason. */
  const isRepeat = verdict.kind === 'admitted' && verdict.repeatOf !== undefined;
  const { balance, window, windows } = verdict;
  return { balance, window, windows, charged, isRepeat };
}

/** The result of a call that metering did not admit. @param used `contact`: where the holder of a suspended account writes to */
export function refusal<Rendered>(
  verdict: Exclude<Verdict, Admitted>,
  { price, lease }: { price: number; lease?: PlannedLease | undefined },
  { key: { key_id }, source, contact }: { key: ApiKey; source: CallSource; contact: string },
  snapshot: Pick<Edition, 'id'>,
): Result<Rendered> {
  if (isKeyRefused(verdict))
    return { kind: 'error', error: keyRefusal(verdict, source, contact), key_id, quota: null, snapshot };
  const context: ResultContext = { key_id, quota: quotaOf(verdict), snapshot };
  if (verdict.kind === 'idempotency_conflict')
    return { ...invalid({ type: 'idempotency_conflict' }, ['header', 'idempotency-key']), ...context };
  return { kind: 'error', error: shortage(verdict, price, lease), ...context };
}

function keyRefusal(verdict: Exclude<Verdict, KnownCaller>, source: CallSource, contact: string): ApiError {
  if (verdict.kind === 'feed_over') return { code: 'not_found' };
  if (verdict.kind === 'restricted') return restricted(verdict.by, source);
  if (!verdict.isSuspended) return { code: 'invalid_key' };
  // Only who has the secret of the key learns that its account is suspended.
  const message = `account_suspended: the account of this key is suspended. Its holder can write to ${contact}`;
  return { code: 'invalid_key', message };
}

/** Says what was sent, never what is allowed: whoever found a key learns nothing about its owner. */
function restricted(by: KeyRestriction, source: CallSource): ApiError {
  const none = (sent: string): string => `${truncateInput(sent)} is none of them`;
  const origin = by === 'origin' ? source.origin() : undefined;
  const message =
    by === 'address'
      ? `The key may be used from certain addresses only, and ${none(source.address())}.`
      : `The key may be used from certain web origins only, and ${origin === undefined ? 'no Origin was sent' : none(origin)}.`;
  return { code: 'key_restricted', message };
}

/** What a caller lacks whose key may be used. */
function shortage(
  verdict: Exclude<KnownCaller, { kind: 'admitted' | 'idempotency_conflict' }>,
  price: number,
  lease: PlannedLease | undefined,
): ApiError {
  const unpaid = (message: string): ApiError => ({ code: 'insufficient_credits', message });
  switch (verdict.kind) {
    case 'lease_over':
      throw new Error('without its lease, a file is planned anew');
    case 'max_credits_exceeded':
      return tooDear(price, lease?.max_credits ?? 0);
    case 'rate_limited':
      return { code: 'rate_limited', retryAfter_s: verdict.retry_after_s };
    case 'feed_bytes_reached':
      return { code: 'rate_limited', retryAfter_s: verdict.windows.day.ends_in_s };
    case 'feed_unpaid':
      return unpaid('The cap of the feed link does not allow the price.');
    case 'insufficient_credits':
      return unpaid(`This answer costs ${price} credits and the balance is ${verdict.balance}.`);
    case 'key_limit_reached':
      return unpaid(
        `This answer costs ${price} credits; this key may spend ${verdict.limit} in a calendar month (UTC) and has spent ${verdict.used}. ` +
          'The account holder can raise its limit.',
      );
  }
}
