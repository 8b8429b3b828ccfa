/**
 * From a call to its plan: parameters, edition, and what the caller says about price.
 *
 * Files are paid by lease: the price of the first call covers every other call for the same content for a day, up to
 * `LEASED_SIZES` times its size. A URL that names no edition is answered from one edition meanwhile, by a pin, so that the
 * parts that a client reads fit together. Metering decides about both.
 */

import { hash } from 'node:crypto';
import { serialize } from 'node:v8';
import { LRUCache } from 'lru-cache';
import type { LeaseTerms } from '../metering/metering.ts';
import {
  type AsOf,
  type Controls,
  document,
  findEdition,
  isPriced,
  type Plan,
  type Planned,
  type ValidationDetail,
  type WholeFile,
} from '../operations/operations.ts';
import type { Edition, Snapshot } from '../snapshot/snapshot.ts';
import type { Call } from './call.ts';
import type { ApiError } from './errors.ts';

const LEASED_SIZES = 20;

/** What a plan says of its lease. */
export type PlannedLease = Omit<LeaseTerms, 'edition' | 'follows'>;

/** Not a plan: an error or invalid parameters, decided before or instead of one. */
export type Unplanned =
  | { kind: 'error'; error: ApiError; edition?: Edition }
  | { kind: 'invalid'; detail: ValidationDetail[]; edition?: never };

/** A plan under what the caller says about price. */
export interface CallPlan extends Plan {
  /** Only for a file of which something is sent. */
  lease?: PlannedLease;
}

type PlannedCall = Pick<
  Call<unknown>,
  'operation' | 'path' | 'readQuery' | 'publicUrl' | 'asksForPart' | 'bytesOf'
>;

/**
 * Rejects only for faults.
 * @param from the edition that is to answer, where a repeat or a pin says so.
 */
export async function planCall(
  call: PlannedCall,
  snapshot: Snapshot,
  from?: string,
): Promise<CallPlan | Unplanned> {
  const { operation, path, publicUrl } = call;
  const reading = call.readQuery();
  if (!reading.ok) return { kind: 'invalid', detail: reading.detail };
  if (call.asksForPart === true && isPriced(operation) && operation.isFile !== true)
    return { kind: 'error', error: NO_PARTS };
  const { values: query, controls } = reading;
  const asOf = askedEdition(operation.asOf?.(query), snapshot, from);
  if (asOf !== undefined) return planAsOf(asOf, call, snapshot, { query, controls });
  return controlled(await operation.plan({ snapshot, path, query, publicUrl }), call, controls, snapshot);
}

/** Such an answer is made for its call: a part of it would cost as much as the whole. */
const NO_PARTS: ApiError = {
  code: 'range_not_satisfiable',
  message:
    'Only whole files come in parts: /v1/files/{indicator_id}.parquet and /v1/bundles/{provider_id}.parquet.',
};

/** Undefined for the served one. */
function askedEdition(asOf: AsOf | undefined, { id }: Snapshot, from?: string): AsOf | undefined {
  if (from === undefined) return asOf;
  return from === id && asOf === undefined ? undefined : { sent: from, edition: { id: from } };
}

/** Plans over the edition that is asked for. Opens it. */
async function planAsOf(
  asOf: AsOf,
  call: PlannedCall,
  { editions }: Snapshot,
  { query, controls }: { query: unknown; controls: Controls },
): Promise<CallPlan | Unplanned> {
  const { operation, path, publicUrl } = call;
  const found = findEdition(asOf, editions);
  if ('kind' in found) return { kind: 'error', error: found.error };
  const edition = await editions.open(found);
  const decided = await operation.plan({ snapshot: edition, path, query, publicUrl });
  const planned = controlled(decided, call, controls, edition);
  return planned.kind === 'invalid' ? planned : { ...planned, edition };
}

/** A refusal comes first: a dry run tells no more than the call would. */
function controlled(
  planned: Planned,
  call: PlannedCall,
  controls: Controls,
  { generatedAt }: Edition,
): CallPlan | Unplanned {
  if (planned.kind === 'refused') return { kind: 'error', error: planned.error };
  if (planned.kind === 'invalid') return planned;
  if (planned.file !== undefined) return fileCall(planned, planned.file, call, controls, generatedAt);
  const { dry_run, max_credits } = controls;
  if (dry_run) return planDryRun(planned, generatedAt);
  return max_credits === undefined || planned.price <= max_credits
    ? planned
    : { kind: 'error', error: tooDear(planned.price, max_credits) };
}

/** Whether it costs something, and more than allowed, is known only with its lease. */
function fileCall(
  planned: Plan,
  file: WholeFile,
  call: PlannedCall,
  { dry_run, max_credits }: Controls,
  generatedAt: string,
): CallPlan | Unplanned {
  const bytes = call.bytesOf?.(file) ?? file.bytes;
  if (bytes === 'unsatisfiable') {
    const message = `The file has ${file.bytes} bytes.`;
    return { kind: 'error', error: { code: 'range_not_satisfiable', message, bytes: file.bytes } };
  }
  const plan = bytes === 0 ? { ...planned, price: 0, rows: 0 } : planned;
  const made = dry_run ? planDryRun(plan, generatedAt) : plan;
  if (bytes === 0 || !isPriced(call.operation)) return made;
  const allowance = LEASED_SIZES * file.bytes;
  return { ...made, lease: { object: file.sha256, bytes, allowance, looks: dry_run === true, max_credits } };
}

export const tooDear = (price: number, max_credits: number): ApiError => ({
  code: 'max_credits_exceeded',
  message: `This answer costs ${price} credits, and max_credits is ${max_credits}.`,
});

function planDryRun({ price, rows }: Plan, generated_at: string): Plan {
  return {
    kind: 'plan',
    price: 0,
    rows: 0,
    produce(caller) {
      if (caller === null) throw new Error('a priced call needs a caller');
      const due = caller.isLeased ? 0 : price;
      const data = { price: due, rows, balance_after: caller.balance - due };
      return document(JSON.stringify({ data, meta: { generated_at } }));
    },
  };
}

/** Names the file whose edition may be pinned; null for other calls. */
export function pinOf(call: Call<unknown>): string | null {
  const { operation, path } = call;
  if (operation.isFile !== true) return null;
  const reading = call.readQuery();
  if (!reading.ok || operation.asOf?.(reading.values) !== undefined) return null;
  return [operation.name, ...Object.values(path)].join(' ');
}

const KEPT_MAX = 10_000;
const KEPT_MS = 60_000;

/** What a call costs that could not be paid. */
interface CountedPrice {
  price: number;
  /** Id of the one that would have answered. */
  edition: string;
  counted_ms: number;
}

/** Prices of calls that were refused for want of credits. For a minute, the same call is refused without counting its rows again. */
export class CountedPrices {
  readonly #now: () => number;
  /** By served snapshot and query. */
  readonly #prices = new LRUCache<string, CountedPrice>({ max: KEPT_MAX });
  /** When accounts were refused last: calls of all others look no further. */
  readonly #refused_ms = new LRUCache<string, number>({ max: KEPT_MAX });

  constructor(now: () => number) {
    this.#now = now;
  }

  keep(account_id: string, call: PricedCall, snapshot: Snapshot, price: number, edition: string): void {
    const counted_ms = this.#now();
    this.#refused_ms.set(account_id, counted_ms);
    this.#prices.set(keyOf(call, snapshot), { price, edition, counted_ms });
  }

  /** Undefined where it is not known, or does not decide about the call. */
  find(account_id: string, call: PricedCall, snapshot: Snapshot): CountedPrice | undefined {
    const first_ms = this.#now() - KEPT_MS;
    if ((this.#refused_ms.get(account_id) ?? 0) <= first_ms) return undefined;
    const reading = call.readQuery();
    if (!reading.ok || reading.controls.dry_run) return undefined;
    const { max_credits = Number.POSITIVE_INFINITY } = reading.controls;
    const found = this.#prices.get(keyOf(call, snapshot));
    return found && found.counted_ms > first_ms && found.price <= max_credits ? found : undefined;
  }
}

type PricedCall = Pick<Call<unknown>, 'route' | 'path' | 'readQuery'>;

/** Equal for calls that ask for the same. */
export function keyOf(call: PricedCall, { id }: Pick<Snapshot, 'id'>): string {
  const { route, path } = call;
  const reading = call.readQuery();
  // Values of parameters may be big integers, which JSON has not.
  return hash('sha256', serialize([id, route, path, reading.ok && reading.values]), 'base64url');
}
