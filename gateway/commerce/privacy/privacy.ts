/**
 * Requests of account holders for a copy of their data or its erasure.
 *
 * - An export contains everything that is stored about the holder but secrets, and is complete or fails. It is a zip file
 *   that is kept for seven days.
 * - An erasure removes all names, addresses and memberships, and counts what it removed before and after. Ledger, orders,
 *   usage and issued invoices stay, because the books must still add up.
 * - Each step is idempotent: the next attempt completes an interrupted one.
 * - A request is done only by what really happened; every other end is `failed`.
 */
export { describeRemoved, type Erasures } from './erasures.ts';
export { openPrivacy, type PrivacyService } from './privacy-service.ts';
export {
  type ErasureCounts,
  type PrivacyRequest,
  type PrivacyRequestKind,
  PrivacyRequestStore,
} from './request-store.ts';
