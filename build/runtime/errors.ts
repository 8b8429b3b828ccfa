/** Errors shown to the person who runs the build. */

/**
 * Faults of this machine (such as a full disk), as opposed to faults of a provider or its files. They fail the whole run
 * with a message that names them, instead of failing one series after the other.
 */
const FAULTS: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full',
  EDQUOT: 'The disk quota is used up',
  EROFS: 'The disk is read-only',
  EIO: 'The disk fails',
  EMFILE: 'Too many files are open',
  ENFILE: 'Too many files are open',
};

/** DuckDB reports the system's message without its error code. */
const WORDS: readonly [RegExp, string][] = [
  [/no space left on device|failed to offload data block|max_temp_directory_size/i, 'The disk is full'],
  [/disk quota exceeded/i, 'The disk quota is used up'],
  [/read-only file system/i, 'The disk is read-only'],
  [/too many open files/i, 'Too many files are open'],
];

/** Describes the fault of this machine that an error or its cause reports; otherwise null. */
export function machineFault(error: unknown): string | null {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    const { code } = inner as NodeJS.ErrnoException;
    const { message } = inner;
    const fault = FAULTS[code ?? ''] ?? WORDS.find(([words]) => words.test(message))?.[1];
    if (fault !== undefined) return `${fault}: ${message}`;
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
