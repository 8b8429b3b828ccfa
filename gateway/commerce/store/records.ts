/** Accounts, rules of keys, orders and ledger entries as the stores return them. All times are Unix milliseconds. */
import type { Tier } from '../../api/metering/metering.ts';

/** As Redis holds a record. */
export type Hash = Readonly<Record<string, string>>;

export type AccountState = 'active' | 'suspended' | 'closed';
export type OrderState = 'pending' | 'paid' | 'failed' | 'cancelled' | 'refunded';
export type LedgerKind = 'grant' | 'purchase' | 'debit' | 'refund' | 'admin_adjust' | 'carry_forward';

export const MAX_ACTIVE_KEYS = 10;

/** What a key is bound to. */
export interface KeyRules {
  /** Credits that it may spend in a UTC calendar month; null for no limit. */
  monthly_limit: number | null;
  /** CIDR ranges of the addresses that may use it; empty for all. */
  ranges: readonly string[];
  /** Web origins from whose pages it may be used; empty for a key that is not for browsers. */
  origins: readonly string[];
}

/** `invoice`: an operator or the command line marks the order as paid; `stripe`: the webhook does. */
export const PAYMENT_IDS = ['invoice', 'stripe'] as const;
export type PaymentId = (typeof PAYMENT_IDS)[number];

export interface LedgerEntry {
  /** Ids increase with time. */
  id: string;
  at_ms: number;
  kind: LedgerKind;
  delta: number;
  balance: number;
  cause:
    | {
        request_id: string;
        route: string;
        key_id: string;
        rows: number;
        /** Ids of the first few indicators; absent where there were none. */
        indicators?: string[];
        /** Number of indicators beyond those; absent with them. */
        more_indicators?: number;
        /** For a reversed debit: when it was made. */
        of_ms?: number;
      }
    | { order_id: string }
    | { by: string };
  reason: string | null;
}

/** Why an operation was rejected, with the status of its page. */
const STATUS = {
  account_exists: 409,
  account_unknown: 404,
  account_state: 409,
  archive_damaged: 500,
  bad_input: 422,
  busy: 503,
  connection_unknown: 404,
  delivery_unknown: 404,
  endpoint_disabled: 409,
  endpoint_unknown: 404,
  feed_unknown: 404,
  idem_conflict: 409,
  invoice_unknown: 404,
  key_state: 409,
  key_unknown: 404,
  member_refused: 409,
  order_state: 409,
  order_unknown: 404,
  pack_unknown: 409,
  person_unknown: 404,
  request_state: 409,
  request_unknown: 404,
  too_large: 409,
  too_many_endpoints: 409,
  too_many_feeds: 409,
  too_many_keys: 409,
  unavailable: 503,
} as const;

export type AccountErrorCode = keyof typeof STATUS;

/** A rejected operation: nothing was changed, except that `unavailable` leaves it unknown. The message is public. */
export class AccountError extends Error {
  override name = 'AccountError';
  readonly code: AccountErrorCode;

  constructor(code: AccountErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  get status(): number {
    return STATUS[this.code];
  }
}

/** A number that Redis holds as text. */
export const numberOr = <T>(text: string | undefined, absent: T): number | T =>
  text === undefined || text === '' ? absent : Number(text);

function tierOf(hash: Hash): Tier {
  if (hash.verified !== '1') return 'anonymous';
  return numberOr(hash.paid, 0) > 0 ? 'paid' : 'free';
}

export function throwUnknownAccount(name: string): never {
  throw new AccountError('account_unknown', `There is no account ${name}.`);
}

/** @throws {AccountError} `account_unknown` */
export function accountFrom(account_id: string, hash: Hash) {
  if (!hash.state) return throwUnknownAccount(account_id);
  return {
    account_id,
    email: hash.email ?? '',
    name: hash.name ?? '',
    state: hash.state as AccountState,
    verified: hash.verified === '1',
    tier: tierOf(hash),
    created_at_ms: numberOr(hash.created_at_ms, 0),
    /** `lifetime_granted` is net of claw-backs and refunds: granted − spent is the balance. */
    credits: {
      balance: numberOr(hash.balance, 0),
      lifetime_granted: numberOr(hash.granted, 0),
      lifetime_spent: numberOr(hash.spent, 0),
    },
  };
}
export type AccountRecord = ReturnType<typeof accountFrom>;

/** Reads a field of a record. */
export type ReadField = (name: string) => string | undefined;

/** The records of a hash with fields `<id>:<name>`, oldest first. @param field that every record has */
export function recordsIn<Item extends { created_at_ms: number }>(
  hash: Hash,
  field: string,
  read: (id: string, field: ReadField) => Item,
): Item[] {
  const ids = Object.keys(hash).flatMap((path) => {
    const [id = '', name] = path.split(':');
    return name === field ? [id] : [];
  });
  const items = ids.sort().map((id) => read(id, (name) => hash[`${id}:${name}`]));
  return items.sort((a, b) => a.created_at_ms - b.created_at_ms);
}

/** Null if the order does not exist. */
export function orderFrom(order_id: string, account_id: string, hash: Hash) {
  if (!hash.state) return null;
  const created_at_ms = numberOr(hash.created_at_ms, 0);
  return {
    order_id,
    account_id,
    state: hash.state as OrderState,
    pack_id: hash.pack_id ?? '',
    pack_name: hash.pack_name ?? '',
    credits: numberOr(hash.credits, 0),
    price_minor: numberOr(hash.price_minor, 0),
    currency: hash.currency ?? '',
    payment: (hash.payment ?? 'invoice') as PaymentId,
    /** Id of the person who placed it; empty if not known. */
    by: hash.by ?? '',
    created_at_ms,
    /** When it entered its current state. */
    moved_at_ms: numberOr(hash[`${hash.state}_at_ms`], created_at_ms),
    /** Credits of a refunded order that were spent and could not be taken back. */
    shortfall: numberOr(hash.shortfall, 0),
  };
}
export type OrderRecord = NonNullable<ReturnType<typeof orderFrom>>;
