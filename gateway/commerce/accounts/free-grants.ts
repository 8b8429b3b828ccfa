/**
 * Bounds of the free credits: one grant a mailbox, and so many in 30 days to sign-ups from one address range and with one
 * mail domain, unless everybody can have a mailbox there. An account beyond a bound is opened without credits.
 *
 * Operators see groups of accounts that signed up from one range, or with one mailbox or domain. Ranges and mailboxes are
 * stored as keyed digests only.
 */
import { createHmac } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { readScript } from '../../../data/runtime/redis-scripts.ts';
import { DAY_MS, redisKeys } from '../../../data/schema/redis-keys.ts';
import { addressUnit } from '../../api/metering/metering.ts';
import { guarded, Store, type StoreDependencies, sharedSecret } from '../store/store.ts';
import { domainOf, isPublicProvider, mailboxOf } from './mail-domains.ts';

const CLAIM = readScript(import.meta.url, 'lua/claim-grant.lua', 7);

const WINDOW_MS = 30 * DAY_MS;
const SEEN_MS = 90 * DAY_MS;
const PER_MAILBOX = 1;

const GROUP_KINDS = ['mailbox', 'range', 'domain'] as const;
export type GroupKind = (typeof GROUP_KINDS)[number];

interface GrantBounds {
  /** Grants in 30 days. */
  perRange: number;
  perDomain: number;
}

export interface NewAccount {
  account_id: string;
  email: string;
  /** The client's IP address. */
  address: string;
}

/** Accounts that share something, the newest first. */
export type AccountGroup = Awaited<ReturnType<typeof signUpGroups>>[number];

export class FreeGrants extends Store<StoreDependencies & GrantBounds> {
  /**
   * Counts a sign-up, once per account.
   * @returns null when it gets the free credits, else whose bound is reached
   * @throws {AccountError} `unavailable`
   */
  async claim({ account_id, email, address }: NewAccount): Promise<GroupKind | null> {
    const domain = domainOf(email);
    const secret = await sharedSecret({ redis: this.redis, random: this.random }, redisKeys.signUpSecret);
    const digest = (text: string): string => createHmac('sha256', secret).update(text).digest('base64url');
    const groups = [
      ['mailbox', digest(mailboxOf(email)), PER_MAILBOX],
      ['range', digest(rangeOf(address)), this.deps.perRange],
      ['domain', digest(domain), isPublicProvider(domain) ? '' : this.deps.perDomain],
    ] as const;
    const [result] = await this.run(CLAIM, [
      redisKeys.signUpGroups,
      ...groups.flatMap(([kind, id]) => [redisKeys.signUps(kind, id), redisKeys.grants(kind, id)]),
      ...[this.now(), account_id, WINDOW_MS, SEEN_MS],
      ...groups.flatMap(([kind, id, most]) => [`${kind}:${id}`, most]),
    ]);
    return result === 'granted' ? null : (GROUP_KINDS[Number(result)] ?? 'range');
  }
}

/** What one customer of a network usually has: a /24 of IPv4, a /48 of IPv6. */
export function rangeOf(address: string): string {
  const unit = addressUnit(address);
  if (isIPv4(unit)) return `${unit.split('.').slice(0, 3).join('.')}.0/24`;
  return `${unit.split(':').slice(0, 3).join(':')}::/48`;
}

/** Groups of at least two accounts, those with the newest sign-up first. @throws {AccountError} `unavailable` */
export async function signUpGroups({ redis, now }: Pick<StoreDependencies, 'redis' | 'now'>, limit: number) {
  const oldest_ms = now() - SEEN_MS;
  const client = guarded(redis);
  const names = await client.zrevrangebyscore(redisKeys.signUpGroups, '+inf', oldest_ms, 'WITHSCORES');
  const groups: { kind: GroupKind; last_ms: number; account_ids: string[] }[] = [];
  for (let at = 0; at < names.length && groups.length < limit; at += 2) {
    const [word, digest = ''] = (names[at] ?? '').split(':', 2);
    const kind = GROUP_KINDS.find((one) => one === word);
    if (kind === undefined) continue;
    const account_ids = await client.zrevrangebyscore(redisKeys.signUps(kind, digest), '+inf', oldest_ms);
    if (account_ids.length > 1) groups.push({ kind, last_ms: Number(names[at + 1]), account_ids });
  }
  return groups;
}

const SHARED: Record<GroupKind, string> = {
  mailbox: 'Another spelling of your address has got the free credits already.',
  range: 'The free credits for your network are used up for now, because many accounts were opened from it.',
  domain:
    'The free credits for your mail domain are used up for now, because many accounts were opened with it.',
};

/** Why a new account got no free credits, for its holder; empty when it got them. */
export const withheldText = (withheld: GroupKind | null): string =>
  withheld === null ? '' : `${SHARED[withheld]} Everything free works, and credits can be bought.`;
