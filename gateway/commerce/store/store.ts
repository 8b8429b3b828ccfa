/**
 * What every room of `commerce/` stores with: its records, its errors and its way to Redis.
 *
 * - A rejected operation throws `AccountError` with a public message. Nothing was changed, except that `unavailable` (Redis
 *   did not answer) leaves it unknown.
 * - A script runs again when its reply is lost, so each script has its effect once, however often it runs.
 * - All times are Unix milliseconds, all credits whole numbers, all addresses trimmed and in lower case.
 *
 * The rooms import each other in one direction: store, history, orders, accounts, notifications, people, privacy, pages.
 */
export {
  AccountError,
  type AccountErrorCode,
  type AccountRecord,
  type AccountState,
  type Adjustment,
  accountFrom,
  type Hash,
  type KeyRecord,
  type KeyRules,
  type LedgerEntry,
  type LedgerKind,
  MAX_ACTIVE_KEYS,
  numberOr,
  type OrderRecord,
  type OrderState,
  PAYMENT_IDS,
  type PaymentId,
} from './records.ts';
export {
  createRunScript,
  guarded,
  type RunScript,
  Store,
  type StoreDependencies,
  throwUnavailable,
} from './redis-access.ts';
export { openText, sealText } from './sealed-text.ts';
export {
  expectOpenAccount,
  MAX_CREDITS,
  nullIfUnknown,
  throwUnknownAccount,
  validateCredits,
  validateEmail,
} from './validation.ts';
