/** Where an operator chooses a password, by a link that an owner had made. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { PASSWORD_LENGTH, passwordProblem } from '../../gateway/commerce/people/people.ts';
import { parseFields, untrimmedField } from '../../gateway/web/forms.ts';
import type { AdminArea } from '../context.ts';
import { operatorSubject } from './operators.ts';

const ANONYMOUS = { config: { allowsAnonymous: true } };
const PATH = '/password/:token';
const passwordForm = z.object({ password: untrimmedField(1_000) });

interface PasswordPage {
  /** `choose` shows the form. */
  step: 'choose' | 'done' | 'invalid';
  token: string;
  email: string;
  /** Shortest password. */
  least: number;
  problem: string;
}

export function operatorPasswordRoutes(scope: FastifyInstance, area: AdminArea): void {
  const view = area.view<PasswordPage>('operator-password.njk');
  const empty = { token: '', email: '', least: PASSWORD_LENGTH.least, problem: '' };
  const title = 'Choose a password';

  const invalid = (reply: FastifyReply) =>
    view(reply.code(410), 'This link is no longer valid', { ...empty, step: 'invalid' });

  // GET does not use the link up: mail scanners open links too.
  scope.get(PATH, ANONYMOUS, async (request, reply) => {
    const token = tokenOf(request);
    const email = await area.operatorLinks.peek(token);
    return email === null ? invalid(reply) : view(reply, title, { ...empty, step: 'choose', token, email });
  });

  scope.post(PATH, ANONYMOUS, async (request, reply) => {
    const token = tokenOf(request);
    const { password } = parseFields(passwordForm, request.body);
    const email = await area.operatorLinks.peek(token);
    if (email === null) return invalid(reply);
    const problem = await passwordProblem(password, email);
    if (problem !== null)
      return view(reply.code(422), title, { ...empty, step: 'choose', token, email, problem });
    const change = {
      ...{ by: email, action: 'operator.password', subject: operatorSubject(email) },
      ...{ before: {}, after: {}, reason: '', request_id: request.id },
    };
    const chosen = await area.audit.attempt(
      change,
      () => area.operatorLinks.choosePassword(token, password),
      (address) => (address === null ? null : {}),
    );
    if (chosen === null) return invalid(reply);
    return view(reply, 'Your password is set', { ...empty, step: 'done', email });
  });
}

const tokenOf = (request: FastifyRequest): string => (request.params as { token: string }).token;
