/** Finding accounts by what a person remembers of them. */
import type { RedisClient } from '../../data/runtime/redis.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import type { AccountRecord, AccountState } from './records.ts';
import { nullIfUnknown, unavailable } from './validation.ts';

/** Accounts read at once while a search walks through all of them. */
const CHUNK = 500;

export interface AccountQuery {
  /** Part of the e-mail address, name or id, in any case. */
  q?: string;
  state?: AccountState;
  limit?: number;
  offset?: number;
}

export interface AccountPage {
  /** Matching accounts in all. */
  total: number;
  /** Newest first. */
  accounts: AccountRecord[];
}

/** Walks through all accounts, a chunk at a time. An index entry whose account is not there is passed over. */
export async function searchAccounts(
  redis: RedisClient,
  get: (account_id: string) => Promise<AccountRecord>,
  { q = '', state, limit = 50, offset = 0 }: AccountQuery,
): Promise<AccountPage> {
  const wanted = q.trim().toLowerCase();
  const page: AccountPage = { total: 0, accounts: [] };
  for (let from = 0; ; from += CHUNK) {
    const ids = await redis.zrevrange(redisKeys.accounts, from, from + CHUNK - 1).catch(unavailable);
    if (ids.length === 0) return page;
    const accounts = await Promise.all(ids.map((id) => get(id).catch(nullIfUnknown)));
    for (const account of accounts) {
      if (!account || !matches(account, wanted, state)) continue;
      if (page.total >= offset && page.accounts.length < limit) page.accounts.push(account);
      page.total++;
    }
  }
}

function matches(account: AccountRecord, wanted: string, state: AccountState | undefined): boolean {
  if (state && account.state !== state) return false;
  return [account.email, account.name, account.account_id].some((text) =>
    text.toLowerCase().includes(wanted),
  );
}
