/**
 * Debits of unknown fate whose marks in Redis have expired, because Redis was away for longer than it remembers them:
 * whether they were charged stands in the ledger, near the moment at which they were sent.
 */
import type { RedisClient } from '../../data/runtime/redis.ts';
import { fieldsOf } from '../../data/runtime/stream-fields.ts';

/** How far the clocks of this gateway and of Redis may be apart. */
const CLOCKS_APART_MS = 10_000;
const PAGE = 1_000;

export interface SoughtDebit {
  now_ms: number;
  price: number;
  request_id: string;
  key_id: string;
}

/** Charges that stand in a ledger and may be sought, and refunds that have taken some of them back. */
interface QuotaStatus {
  charged: Map<string, number>;
  refunded: Map<string, number>;
}

const add = (counts: Map<string, number>, name: string, by: number): number => {
  const count = (counts.get(name) ?? 0) + by;
  counts.set(name, count);
  return count;
};

const callOf = (key: string, credits: number, request: string): string => `${key} ${credits} ${request}`;

/**
 * Those of an account's debits that were charged and not given back. Debits that nothing tells apart are found as often
 * as they stand there; a refund of the same call, whenever it was, counts against them. Rejects with what Redis says.
 */
export async function chargedDebits<Debit extends SoughtDebit>(
  redis: RedisClient,
  ledger: string,
  debits: readonly Debit[],
): Promise<Debit[]> {
  const standing: QuotaStatus = { charged: new Map(), refunded: new Map() };
  let from = String(Math.min(...debits.map(({ now_ms }) => now_ms)) - CLOCKS_APART_MS);
  for (;;) {
    const page = await redis.xrange(ledger, from, '+', 'COUNT', PAGE);
    for (const [, fields] of page) note(standing, fieldsOf(fields));
    const last = page.at(-1);
    if (!last || page.length < PAGE) break;
    from = `(${last[0]}`;
  }
  return debits.filter(({ now_ms, request_id, key_id, price }) => {
    const call = callOf(key_id, price, request_id);
    if (add(standing.charged, `${now_ms} ${call}`, -1) < 0) return false;
    return add(standing.refunded, call, -1) < 0;
  });
}

function note(standing: QuotaStatus, fields: Record<string, string>): void {
  const { at_ms, kind, key = '', delta, request = '' } = fields;
  const call = callOf(key, Math.abs(Number(delta)), request);
  if (kind === 'debit') add(standing.charged, `${at_ms} ${call}`, 1);
  else if (kind === 'refund') add(standing.refunded, call, 1);
}
