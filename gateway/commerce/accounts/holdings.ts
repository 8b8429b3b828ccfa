/** What an account holds that closing it forfeits. */

import type { AccountState } from '../store/store.ts';
import type { AccountStore } from './account-store.ts';

/** As audit entries and the mail about a closed account state it. */
export interface Holdings {
  state: AccountState;
  /** Balance. */
  credits: number;
  /** Active keys. */
  keys: number;
}

/** @throws {AccountError} `account_unknown` */
export async function holdingsOf(accounts: AccountStore, account_id: string): Promise<Holdings> {
  const [{ state, credits }, keys] = await Promise.all([
    accounts.get(account_id),
    accounts.keys.list(account_id),
  ]);
  return { state, credits: credits.balance, keys: keys.filter((key) => key.state === 'active').length };
}
