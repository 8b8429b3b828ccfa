/**
 * What every room of `commerce/` stores with: its records, its errors and its way to Redis.
 *
 * - A rejected operation throws `AccountError` with a public message. Nothing was changed, except that `unavailable` (Redis
 *   did not answer) leaves it unknown.
 * - A script runs again when its reply is lost, so each script has its effect once, however often it runs.
 * - All times are Unix milliseconds, all credits whole numbers, all addresses trimmed and in lower case.
 *
 * The rooms import each other in one direction: store, history, orders, accounts, notifications, people, connections, privacy,
 * pages.
 */
export * from './records.ts';
export * from './redis-access.ts';
export * from './sealed-text.ts';
export * from './validation.ts';
