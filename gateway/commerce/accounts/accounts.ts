/**
 * Accounts: their credits, keys, members and free credits, and the persons who are the members.
 *
 * - Each change is one Lua script on the keys of one account, so changes of an account never interleave. Each is
 *   idempotent: after a lost reply or a crash the same command completes it and returns the first result.
 * - The balance always equals the sum of the ledger's deltas and is never negative.
 * - The text of a key exists once, in the answer that made it; Redis has its digest. Metering reads state and rules of a
 *   key at each call, so that a change counts from the next call on.
 * - An account has one owner. The script of each change of members checks the role of whoever asks for it.
 * - An erased person leaves a mark, so that no late write makes the person again.
 */
export * from './account-store.ts';
export * from './demo-key.ts';
export * from './free-grants.ts';
export * from './key-rules.ts';
export * from './key-store.ts';
export * from './mail-domains.ts';
export * from './member-store.ts';
export * from './person-store.ts';
