/** From a call to its plan: parameters, edition, and what the caller says about price. */
import type { ApiError } from './errors.ts';
import { findEdition } from './operations/as-of.ts';
import type { Controls } from './operations/controls.ts';
import { type AsOf, document, type Operation, type Plan, type Planned } from './operations/operation.ts';
import type { ParameterReading } from './operations/parameter-reader.ts';
import type { ValidationDetail } from './operations/validation.ts';
import type { Edition } from './snapshot/edition.ts';
import type { Snapshot } from './snapshot/snapshot.ts';

/** Not a plan: an error or invalid parameters, decided before or instead of one. */
export type Unplanned =
  | { kind: 'error'; error: ApiError; edition?: Edition }
  | { kind: 'invalid'; detail: ValidationDetail[]; edition?: never };

interface PlannedCall {
  operation: Operation;
  path: Readonly<Record<string, string>>;
  readQuery(): ParameterReading<unknown>;
  /** Where callers reach the service, where it is known. */
  readonly publicUrl?: string | undefined;
}

/**
 * Throws or rejects only for faults.
 * @param repeatOf the edition of the first call, where this one repeats it.
 */
export function planCall(
  call: PlannedCall,
  snapshot: Snapshot,
  repeatOf?: string,
): Plan | Unplanned | Promise<Plan | Unplanned> {
  const { operation, path, publicUrl } = call;
  const reading = call.readQuery();
  if (!reading.ok) return { kind: 'invalid', detail: reading.detail };
  const { values: query, controls } = reading;
  const asOf = askedEdition(operation.asOf?.(query), snapshot, repeatOf);
  if (asOf !== undefined) return planAsOf(asOf, call, snapshot, { query, controls });
  const planned = operation.plan({ snapshot, path, query, publicUrl });
  return planned instanceof Promise
    ? planned.then((decided) => controlled(decided, controls, snapshot))
    : controlled(planned, controls, snapshot);
}

/** Undefined for the served one. */
function askedEdition(asOf: AsOf | undefined, { id }: Snapshot, repeatOf?: string): AsOf | undefined {
  if (repeatOf === undefined) return asOf;
  return repeatOf === id && asOf === undefined ? undefined : { sent: repeatOf, edition: { id: repeatOf } };
}

/** Plans over the edition that is asked for. Opens it. */
async function planAsOf(
  asOf: AsOf,
  { operation, path, publicUrl }: PlannedCall,
  { editions }: Snapshot,
  { query, controls }: { query: unknown; controls: Controls },
): Promise<Plan | Unplanned> {
  const found = findEdition(asOf, editions);
  if ('kind' in found) return { kind: 'error', error: found.error };
  const edition = await editions.open(found);
  const decided = await operation.plan({ snapshot: edition, path, query, publicUrl });
  const planned = controlled(decided, controls, edition);
  return planned.kind === 'invalid' ? planned : { ...planned, edition };
}

/** A refusal comes first: a dry run tells no more than the call would. */
function controlled(
  planned: Planned,
  { dry_run, max_credits }: Controls,
  { generatedAt }: Edition,
): Plan | Unplanned {
  if (planned.kind === 'refused') return { kind: 'error', error: planned.error };
  if (planned.kind === 'invalid') return planned;
  if (dry_run) return dryRunOf(planned, generatedAt);
  if (max_credits === undefined || planned.price <= max_credits) return planned;
  const message = `This answer costs ${planned.price} credits, and max_credits is ${max_credits}.`;
  return { kind: 'error', error: { code: 'max_credits_exceeded', message } };
}

function dryRunOf({ price, rows }: Plan, generated_at: string): Plan {
  return {
    kind: 'plan',
    price: 0,
    rows: 0,
    produce(caller) {
      if (caller === null) throw new Error('a priced call needs a caller');
      const data = { price, rows, balance_after: caller.balance - price };
      return document(JSON.stringify({ data, meta: { generated_at } }));
    },
  };
}
