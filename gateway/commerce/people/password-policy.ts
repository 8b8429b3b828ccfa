/**
 * Which new passwords are accepted: long enough, not common, and not the e-mail address. Existing passwords keep working.
 *
 * The list of common passwords takes 0.1 s and some megabytes to load, so it is loaded when the first password is chosen.
 */
export const PASSWORD_LENGTH = { least: 10, most: 200 } as const;
/** Shorter local parts of addresses say too little. */
const LEAST_LOCAL_PART = 4;
const LEAST_DISTINCT = 5;

let common: Promise<ReadonlySet<string>> | null = null;

async function loadCommon(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  return new Set(dictionary['passwords-common'].map((word) => String(word).toLowerCase()));
}

/** What is wrong with a new password, in one sentence for its owner; null if nothing is. */
export async function passwordProblem(password: string, email: string): Promise<string | null> {
  const { least, most } = PASSWORD_LENGTH;
  if (password.length < least || password.length > most)
    return `A password has ${least} to ${most} characters.`;
  const word = password.normalize('NFC').trim().toLowerCase();
  if (isAddress(word, email.trim().toLowerCase())) return 'Your e-mail address cannot be your password.';
  common ??= loadCommon();
  if (isCommon(word, await common))
    return 'This password is on the lists of common passwords that attackers try first. Choose another one.';
  return null;
}

/** The address, its local part, or either with digits and signs added. */
function isAddress(word: string, email: string): boolean {
  const local = email.split('@', 1)[0] ?? '';
  const bare = trimmed(word);
  if ([word, bare].includes(email) || [word, bare].includes(trimmed(email))) return true;
  return (
    local.length >= LEAST_LOCAL_PART && [word, bare].some((text) => [local, trimmed(local)].includes(text))
  );
}

/** On the list as it is or with digits and signs added, or of very few characters. */
const isCommon = (word: string, list: ReadonlySet<string>): boolean =>
  list.has(word) || list.has(trimmed(word)) || new Set(word).size < LEAST_DISTINCT;

/** Without digits and signs at both ends. */
const trimmed = (word: string): string => word.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, '');
