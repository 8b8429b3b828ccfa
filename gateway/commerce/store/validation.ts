/** Input checks of the stores, and errors that several of them throw. */
import { z } from 'zod';
import { AccountError, type AccountErrorCode, throwUnknownAccount } from './records.ts';

const emailAddress = z.email().max(254);
export const MAX_CREDITS = 1_000_000_000_000;

/** Trimmed and in lower case. @throws {AccountError} `bad_input` */
export function validateEmail(email: string): string {
  const problem = addressProblem(email);
  if (problem !== null) throw badInput(problem);
  return normalised(email);
}

/** What is wrong with an address, for a form; null if nothing is. */
export const addressProblem = (email: string): string | null =>
  emailAddress.safeParse(normalised(email)).success ? null : `"${email}" is not an e-mail address.`;

const normalised = (email: string): string => email.trim().toLowerCase();

export const badInput = (message: string): AccountError => new AccountError('bad_input', message);

/** @throws {AccountError} `bad_input` */
export function validateCredits(credits: number, min: number): number {
  if (Number.isInteger(credits) && credits >= min && credits <= MAX_CREDITS) return credits;
  throw badInput(`Credits must be a whole number from ${min} to ${MAX_CREDITS}.`);
}

/** Checks the result of a script that needs an account which is not closed. */
export function expectOpenAccount(result: unknown, account_id: string): void {
  if (result === 'unknown') throwUnknownAccount(account_id);
  if (result === 'closed') throw new AccountError('account_state', 'The account is closed.');
}

/** For `catch`: null instead of one kind of error. */
export const nullIf =
  (code: AccountErrorCode) =>
  (error: unknown): null => {
    if (error instanceof AccountError && error.code === code) return null;
    throw error;
  };
export const nullIfUnknown = nullIf('account_unknown');
