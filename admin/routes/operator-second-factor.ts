/** The second factor of an operator: the shared pages, with audit and a mail where there is a mail server. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as templates from '../../gateway/commerce/notifications/mail/templates.ts';
import {
  type ProtectedArea,
  secondFactorRoutes,
  type ThrottlePolicy,
  tooManyAttempts,
} from '../../gateway/commerce/people/people.ts';
import { type AdminArea, actorOf, auditedChange } from '../context.ts';
import { operatorSubject } from './operators.ts';

const GUESSING: ThrottlePolicy = { free_attempts: 5, max_delay_ms: 300_000, decay_ms: 600_000 };
const COUNTER = 'operator-password';

export function operatorSecondFactorRoutes(
  scope: FastifyInstance,
  pages: ProtectedArea,
  area: AdminArea,
): void {
  const { operators, throttle, passwords, mailer, areaUrl, log } = area;

  async function confirmPassword(
    request: FastifyRequest,
    reply: FastifyReply,
    password: string,
  ): Promise<string | null> {
    const email = actorOf(request);
    const wait_ms = await throttle.attempt(COUNTER, email, GUESSING);
    if (wait_ms > 0) return tooManyAttempts(reply, Math.ceil(wait_ms / 1000));
    const login = await operators.findLogin(email);
    if (!(await passwords.verify(password, login?.password ?? null))) {
      reply.code(422);
      return 'The current password is not right.';
    }
    await throttle.reset(COUNTER, email);
    return null;
  }

  secondFactorRoutes(scope, pages, {
    confirmPassword,
    onChange: async (request, change) => {
      const email = actorOf(request);
      const after = { second_factor: change };
      const entry = { action: 'operator.second_factor', subject: operatorSubject(email), after };
      await auditedChange(area, request, entry, async () => {});
      // The page that shows the recovery codes must neither wait for the mail server nor fail with it.
      void mailer
        .send(templates.operatorSecondFactor(email, `${areaUrl()}/second-factor`, change))
        .catch((error: unknown) => log.warn({ err: error }, 'notice of a second factor is not mailed'));
    },
  });
}
