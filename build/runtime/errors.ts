/** Errors shown to the person who runs the build. */
import { CuratedError } from '../../data/curated/curated.ts';
import { LockHeldError, LockLostError } from '../../data/runtime/file-lock.ts';
import { PrivateRedisError } from '../../data/runtime/private-redis.ts';
import { SettingsError } from '../../data/runtime/settings.ts';

/**
 * Faults of this machine (such as a full disk), as opposed to faults of a provider or its files. They fail the whole run
 * with a message that names them, instead of failing one series after the other. DuckDB reports the system's message
 * without its error code.
 */
const FAULTS: readonly [code: RegExp, message: RegExp | null, string][] = [
  [
    /^ENOSPC$/,
    /no space left on device|failed to offload data block|max_temp_directory_size/i,
    'The disk is full',
  ],
  [/^EDQUOT$/, /disk quota exceeded/i, 'The disk quota is used up'],
  [/^EROFS$/, /read-only file system/i, 'The disk is read-only'],
  [/^EIO$/, null, 'The disk fails'],
  [/^E[MN]FILE$/, /too many open files/i, 'Too many files are open'],
];

/** Describes the fault of this machine that an error or its cause reports; otherwise null. */
export function machineFault(error: unknown): string | null {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    const { code = '', message } = inner as NodeJS.ErrnoException;
    const found = FAULTS.find(([codes, words]) => codes.test(code) || words?.test(message));
    if (found) return `${found[2]}: ${message}`;
  }
  return null;
}

/** Describes an error in a sentence for the operator. */
export const describeError = (error: unknown): string =>
  machineFault(error) ?? (error instanceof Error ? error.message : String(error));

/** A command that cannot be carried out as asked. The message is a sentence for the person who asked. */
export class CommandError extends Error {
  override name = 'CommandError';
}

/** The command line was not understood. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** Errors whose message is written for the person at the terminal. */
const EXPECTED = [CommandError, CuratedError, LockHeldError, LockLostError, PrivateRedisError, SettingsError];

/** What is printed of an error: the message of an expected one, the stack of any other. */
export function printedError(error: unknown): string {
  const isExpected = EXPECTED.some((known) => error instanceof known);
  return String(error instanceof Error ? (isExpected ? error.message : error.stack) : error);
}
