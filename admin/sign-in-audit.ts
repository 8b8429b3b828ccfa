/**
 * Sign-ins of operators in the audit log, good and bad.
 *
 * A wrong password for an operator is always an entry: the throttle bounds how many there can be. Attempts with unknown
 * addresses, and throttled ones, are one entry an hour and network, so that nobody can fill the log. What was typed as an
 * unknown address is not kept, because it may be somebody's address or password.
 */

import { addressUnit } from '../gateway/api/metering/metering.ts';
import type { AuditLog } from '../gateway/commerce/history/history.ts';
import type { SignInAttempt } from '../gateway/commerce/people/people.ts';
import type { OperatorStore } from './operators.ts';

const HOUR_MS = 3_600_000;
const UNKNOWN = 'unknown';

interface Dependencies {
  audit: AuditLog;
  operators: Pick<OperatorStore, 'findLogin'>;
  /** Unix milliseconds. */
  now: () => number;
}

export async function recordSignIn(
  { audit, operators, now }: Dependencies,
  { email, result, step, request }: SignInAttempt,
): Promise<void> {
  const by = (await operators.findLogin(email)) === null ? UNKNOWN : email;
  const entry = {
    by,
    action: result === 'signed_in' ? 'operator.sign_in' : 'operator.sign_in_failed',
    subject: `operator ${by}`,
    before: {},
    after: {
      address: request.ip,
      ...(step === 'second factor' && { second_factor: true }),
      ...(result === 'throttled' && { throttled: true }),
    },
    reason: '',
    request_id: request.id,
  };
  const isAlwaysKept = by !== UNKNOWN && result !== 'throttled';
  const hour = Math.floor(now() / HOUR_MS);
  await audit.record(entry, isAlwaysKept ? null : `sign-in ${by} ${addressUnit(request.ip)} ${hour}`);
}
