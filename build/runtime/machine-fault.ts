/**
 * Faults of this machine, told apart from faults of a provider or of its files. A full disk is nobody's bad series: what
 * meets it ends as a whole, with a sentence that names it, instead of losing one series after the other.
 */

const FAULTS: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full',
  EDQUOT: 'The disk quota is used up',
  EROFS: 'The disk is read-only',
  EIO: 'The disk fails',
  EMFILE: 'Too many files are open',
  ENFILE: 'Too many files are open',
};

/** DuckDB hands the system's words on without its code. */
const WORDS: readonly [RegExp, string][] = [
  [/no space left on device|failed to offload data block|max_temp_directory_size/i, 'The disk is full'],
  [/disk quota exceeded/i, 'The disk quota is used up'],
  [/read-only file system/i, 'The disk is read-only'],
  [/too many open files/i, 'Too many files are open'],
];

/** What is wrong with this machine, as a sentence, when that is what an error or its cause says; otherwise null. */
export function machineFault(error: unknown): string | null {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    const { code } = inner as NodeJS.ErrnoException;
    const { message } = inner;
    const fault = FAULTS[code ?? ''] ?? WORDS.find(([words]) => words.test(message))?.[1];
    if (fault !== undefined) return `${fault}: ${message}`;
  }
  return null;
}

/** Why something failed, in a sentence for the operator. */
export const describeError = (error: unknown): string =>
  machineFault(error) ?? (error instanceof Error ? error.message : String(error));
