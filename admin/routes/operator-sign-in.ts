/**
 * How operators sign in: choosing a password by a link that an owner had made, the second factor (the shared pages, with audit and
 * a mail where there is a mail server), and sign-ins in the audit log, good and bad.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { addressUnit } from '../../gateway/api/metering/metering.ts';
import type { AuditLog } from '../../gateway/commerce/history/history.ts';
import { templates } from '../../gateway/commerce/notifications/notifications.ts';
import {
  confirmPassword,
  PASSWORD_LENGTH,
  type ProtectedArea,
  passwordProblem,
  type SignInAttempt,
  secondFactorRoutes,
} from '../../gateway/commerce/people/people.ts';
import { parseFields, untrimmedField } from '../../gateway/web/forms.ts';
import { type AdminArea, actorOf } from '../context.ts';
import type { OperatorStore } from '../operators.ts';
import { operatorSubject } from './operators.ts';

const ANONYMOUS = { config: { allowsAnonymous: true } };
const PATH = '/password/:token';
const passwordForm = z.object({ password: untrimmedField(1_000) });

export function operatorPasswordRoutes(scope: FastifyInstance, area: AdminArea): void {
  const view = area.view('operator-password.njk');
  const empty = { token: '', email: '', least: PASSWORD_LENGTH.least, problem: '' };
  const title = 'Choose a password';

  const invalid = (reply: FastifyReply) =>
    view(reply.code(410), 'This link is no longer valid', { ...empty, step: 'invalid' });

  // GET does not use the link up: mail scanners open links too.
  scope.get(PATH, ANONYMOUS, async (request, reply) => {
    const token = readToken(request);
    const email = await area.operatorLinks.peek(token);
    return email === null ? invalid(reply) : view(reply, title, { ...empty, step: 'choose', token, email });
  });

  scope.post(PATH, ANONYMOUS, async (request, reply) => {
    const token = readToken(request);
    const { password } = parseFields(passwordForm, request.body);
    const email = await area.operatorLinks.peek(token);
    if (email === null) return invalid(reply);
    const problem = await passwordProblem(password, email);
    if (problem !== null)
      return view(reply.code(422), title, { ...empty, step: 'choose', token, email, problem });
    const chosen = await area.audit.attempt(
      { by: email, action: 'operator.password', subject: operatorSubject(email), request_id: request.id },
      () => area.operatorLinks.choosePassword(token, password),
      (address) => (address === null ? null : {}),
    );
    if (chosen === null) return invalid(reply);
    return view(reply, 'Your password is set', { ...empty, step: 'done', email });
  });
}

const readToken = (request: FastifyRequest): string => (request.params as { token: string }).token;

export function operatorSecondFactorRoutes(
  scope: FastifyInstance,
  pages: ProtectedArea,
  area: AdminArea,
): void {
  const { operators, mailer, areaUrl, log } = area;

  secondFactorRoutes(scope, pages, {
    async confirmPassword(request, reply, typed) {
      const subject = actorOf(request);
      const stored = (await operators.findLogin(subject))?.password ?? null;
      return confirmPassword(area, reply, { counter: 'operator-password', subject, typed, stored });
    },
    onChange: async (request, change) => {
      const email = actorOf(request);
      const after = { second_factor: change };
      const entry = { action: 'operator.second_factor', subject: operatorSubject(email), after };
      await request.audited(entry, async () => {});
      // The page that shows the recovery codes must neither wait for the mail server nor fail with it.
      void mailer
        .send(templates.operatorSecondFactor(email, `${areaUrl()}/second-factor`, change))
        .catch((error: unknown) => log.warn({ err: error }, 'notice of a second factor is not mailed'));
    },
  });
}

const HOUR_MS = 3_600_000;
const UNKNOWN = 'unknown';

interface Dependencies {
  audit: AuditLog;
  operators: Pick<OperatorStore, 'findLogin'>;
  /** Unix milliseconds. */
  now: () => number;
}

/**
 * A wrong password for an operator is always an entry: the throttle bounds how many there can be. Attempts with unknown
 * addresses, and throttled ones, are one entry an hour and network, so that nobody can fill the log. What was typed as an
 * unknown address is not kept, because it may be somebody's address or password.
 */
export async function recordSignIn(
  { audit, operators, now }: Dependencies,
  { email, result, step, request }: SignInAttempt,
): Promise<void> {
  const by = (await operators.findLogin(email)) === null ? UNKNOWN : email;
  const entry = {
    by,
    action: result === 'signed_in' ? 'operator.sign_in' : 'operator.sign_in_failed',
    subject: `operator ${by}`,
    after: {
      address: request.ip,
      ...(step === 'second factor' && { second_factor: true }),
      ...(result === 'throttled' && { throttled: true }),
    },
    request_id: request.id,
  };
  const isAlwaysKept = by !== UNKNOWN && result !== 'throttled';
  const hour = Math.floor(now() / HOUR_MS);
  await audit.record(entry, isAlwaysKept ? null : `sign-in ${by} ${addressUnit(request.ip)} ${hour}`);
}
