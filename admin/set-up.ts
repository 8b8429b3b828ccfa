/**
 * What an operator has not set up yet, for the dashboard: what customers would miss, and what would hurt later. Each is found
 * in the settings, in the register of operators, or in the note that a backup leaves.
 */
import { isProduction } from '../data/runtime/settings.ts';
import { DAY_MS, redisKeys } from '../data/schema/redis-keys.ts';
import { missingForInvoices, salesTermsOf } from '../gateway/commerce/orders/orders.ts';
import type { AdminArea } from './context.ts';

interface SetUpWarning {
  /** A sentence that says what does not work, or is at risk. */
  what: string;
  /** Settings that change it. */
  settings: readonly string[];
  /** The page where it is changed; absent for settings. */
  path?: string;
}

/** A backup that is older does not count. */
const BACKUP_DAYS = 7;

export async function findSetUpWarnings(area: AdminArea): Promise<SetUpWarning[]> {
  return [...ordering(area), ...fromSettings(area), ...(await backups(area)), ...(await secondFactors(area))];
}

function ordering({ settings }: AdminArea): SetUpWarning[] {
  const missing = missingForInvoices(salesTermsOf(settings));
  if (missing.length === 0) return [];
  const others = settings.STRIPE_SECRET_KEY === undefined ? 'Customers cannot order.' : 'Cards are taken.';
  const what = `Ordering by invoice is off until the seller and the bank details are set. ${others}`;
  return [{ what, settings: missing }];
}

function fromSettings({ settings }: AdminArea): SetUpWarning[] {
  const { SMTP_URL, PUBLIC_URL, CONTACT_EMAIL, ADMIN_PASSWORD } = settings;
  const checks: [isMissing: boolean, setting: string, what: string][] = [
    [SMTP_URL === undefined, 'SMTP_URL', 'No mail is sent: there is no mail server.'],
    [PUBLIC_URL === undefined, 'PUBLIC_URL', 'Links in mails, citations and payments lead to this machine.'],
    [CONTACT_EMAIL === undefined, 'CONTACT_EMAIL', 'Customers find no address for questions.'],
    [
      !isProduction(settings),
      'NODE_ENV',
      'Development mode: a demo key, passwords and links of mails may be printed to the log.',
    ],
    [
      ADMIN_PASSWORD !== undefined,
      'ADMIN_PASSWORD',
      'The password of the first operator stands in the settings: remove it.',
    ],
  ];
  return checks.flatMap(([isMissing, setting, what]) => (isMissing ? [{ what, settings: [setting] }] : []));
}

async function backups({ redis, now }: AdminArea): Promise<SetUpWarning[]> {
  const finished_at_ms = Number(await redis.get(redisKeys.backedUp));
  if (now() - finished_at_ms <= BACKUP_DAYS * DAY_MS) return [];
  const last = new Date(finished_at_ms).toISOString().slice(0, 10);
  const what = finished_at_ms === 0 ? 'There is no backup.' : `The last backup is of ${last}.`;
  return [{ what: `${what} Run npm run backup.`, settings: [] }];
}

async function secondFactors({ operators, secondFactor, settings }: AdminArea): Promise<SetUpWarning[]> {
  const all = await operators.list();
  const isOn = await Promise.all(all.map(({ email }) => secondFactor.isOn(email)));
  const without = all.filter((_, index) => !isOn[index]).map(({ email }) => email);
  if (without.length === 0) return [];
  const required = settings.ADMIN_SECOND_FACTOR === 'required' ? [] : ['ADMIN_SECOND_FACTOR'];
  const what = `Without a second factor: ${without.join(', ')}.`;
  return [{ what, settings: required, path: '/admin/second-factor' }];
}
