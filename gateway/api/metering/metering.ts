/**
 * Metering: API keys, rate windows, credits and usage, on Redis or Valkey. This is its door.
 *
 * - An admitted request is charged exactly its price, exactly once, even when a reply of Redis is lost.
 * - A refused request costs nothing. No balance drops below zero, and no key passes its monthly limit.
 * - A revocation, a suspension or a changed rule of a key takes effect with the next request, at every gateway.
 * - A debit whose answer the client never got is reversed, once, as soon as Redis answers.
 * - An address takes so many different files an hour without a key, however many it asks for at once.
 * - While Redis is away, keyed requests fail at once, and anonymous ones are admitted uncounted.
 * - A feed link pays once for each content, and never beyond its cap; a link that was revoked is dead at the next fetch.
 * - Money changes only in `lua/`: one script decides a request and charges it.
 */
export { addressUnit, DOWNLOADS_PER_HOUR } from './address-meter.ts';
export { readableRange, storedRange } from './address-ranges.ts';
export * from './admission.ts';
export { parseIndicators } from './admit-script.ts';
export * from './feeds.ts';
export {
  KeyResolver,
  type MintedKey,
  mintKeyText,
  parseKey,
  type RandomBytes,
  randomId,
  type StoredKey,
  storedKey,
} from './keys.ts';
export { redisFault } from './redis-health.ts';
export { RedisMetering, type TierLimits } from './redis-metering.ts';
export {
  foldUsage,
  foldUsageByKey,
  readUsage,
  readUsageDays,
  readUsedDays,
  readUsedIndicators,
  USED_DAYS,
} from './usage.ts';
