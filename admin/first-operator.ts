/** Creates the first operator, who is owner. */
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Settings } from '../data/runtime/settings.ts';
import type { AuditLog } from '../gateway/commerce/history/history.ts';
import type { OperatorStore, SignIn } from './operators.ts';

const TRIAL_EMAIL = 'operator@almanac.example';
const PASSWORD_FILE = 'operator';
const START = 'start of the service';

/**
 * @param trial whether to create an operator without settings
 * @returns the trial operator's credentials, to show at the terminal; null otherwise
 */
export async function ensureFirstOperator(
  operators: OperatorStore,
  audit: AuditLog,
  settings: Pick<Settings, 'ADMIN_EMAIL' | 'ADMIN_PASSWORD' | 'VAR_DIR'>,
  trial: boolean,
): Promise<SignIn | null> {
  const existing = await operators.list();
  const put = ({ email, password }: SignIn) =>
    audit.attempt(
      { by: START, action: 'operator.create', subject: `operator ${email}`, after: { role: 'owner' } },
      () => operators.put(email, 'owner', password),
    );
  const { ADMIN_EMAIL: email, ADMIN_PASSWORD: password } = settings;
  if (email !== undefined && password !== undefined) {
    if (existing.length === 0) await put({ email, password });
    return null;
  }
  if (!trial) return null;
  const file = join(settings.VAR_DIR, PASSWORD_FILE);
  if (existing.length > 0) {
    // The file is outdated once the password has been changed.
    const stored = (await readFile(file, 'utf8').catch(() => '')).trim();
    const known = { email: TRIAL_EMAIL, password: stored };
    return stored !== '' && (await operators.accepts(known)) ? known : null;
  }
  const created = { email: TRIAL_EMAIL, password: randomBytes(12).toString('base64url') };
  await writeFile(file, `${created.password}\n`, { mode: 0o600 });
  await put(created);
  return created;
}
