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
export * from './erasures.ts';
export * from './privacy-service.ts';
export * from './request-store.ts';
