/** What the store takes, and the sentences with which it refuses. */
import { z } from 'zod';
import { AccountError } from './records.ts';

const emailAddress = z.email().max(254);
export const CREDITS_AT_MOST = 1_000_000_000_000;

export function checkedEmail(email: string): string {
  const address = email.trim().toLowerCase();
  if (emailAddress.safeParse(address).success) return address;
  throw new AccountError('bad_input', `"${email}" is not an e-mail address.`);
}

export function checkedCredits(credits: number, least: number): number {
  if (Number.isInteger(credits) && credits >= least && credits <= CREDITS_AT_MOST) return credits;
  throw new AccountError('bad_input', `Credits must be a whole number from ${least} to ${CREDITS_AT_MOST}.`);
}

export function expectAccount(outcome: unknown, account_id: string): void {
  if (outcome === 'unknown') unknownAccount(account_id);
  if (outcome === 'closed') throw new AccountError('account_state', 'The account is closed.');
}

export function unknownAccount(name: string): never {
  throw new AccountError('account_unknown', `There is no account ${name}.`);
}

export function nullIfUnknown(error: unknown): null {
  if (error instanceof AccountError && error.code === 'account_unknown') return null;
  throw error;
}

export function unavailable(cause: unknown): never {
  throw new AccountError('unavailable', 'Redis did not answer; try again.', { cause });
}
