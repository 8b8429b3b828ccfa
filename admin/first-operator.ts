/**
 * Somebody who can sign in after the very first start: the operator of ADMIN_EMAIL and ADMIN_PASSWORD when no operator
 * exists, and for a trial run one whose password is made here and kept in a file that only its owner can read.
 */
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Settings } from '../data/runtime/settings.ts';
import type { AuditLog } from '../gateway/accounts/audit/audit-log.ts';
import { isPassword } from '../gateway/accounts/sign-in/passwords.ts';
import type { OperatorStore } from './operators.ts';

const TRIAL_EMAIL = 'operator@almanac.example';
const FILE = 'operator';

export interface SignIn {
  email: string;
  password: string;
}

/**
 * @param trial whether to make an operator nobody asked for.
 * @returns what a person at the terminal may be shown: the trial operator's sign-in, or null.
 */
export async function ensureOperator(
  operators: OperatorStore,
  audit: AuditLog,
  settings: Pick<Settings, 'ADMIN_EMAIL' | 'ADMIN_PASSWORD' | 'VAR_DIR'>,
  trial: boolean,
): Promise<SignIn | null> {
  const existing = await operators.list();
  const put = ({ email, password }: SignIn) =>
    audit.attempt(
      {
        ...{ by: 'start of the service', action: 'operator.create', subject: `operator ${email}` },
        ...{ before: {}, after: { role: 'operator' }, reason: '', request_id: '' },
      },
      () => operators.put(email, 'operator', password),
      () => ({}),
    );
  const { ADMIN_EMAIL: email, ADMIN_PASSWORD: password } = settings;
  if (email !== undefined && password !== undefined) {
    if (existing.length === 0) await put({ email, password });
    return null;
  }
  if (!trial) return null;
  const file = join(settings.VAR_DIR, FILE);
  if (existing.length > 0) {
    // A password that was changed since is nobody's to show.
    const kept = (await readFile(file, 'utf8').catch(() => '')).trim();
    const candidate = await operators.candidate(TRIAL_EMAIL);
    const opens = kept !== '' && candidate !== null && (await isPassword(kept, candidate.password));
    return opens ? { email: TRIAL_EMAIL, password: kept } : null;
  }
  const made = { email: TRIAL_EMAIL, password: randomBytes(12).toString('base64url') };
  await writeFile(file, `${made.password}\n`, { mode: 0o600 });
  await put(made);
  return made;
}
