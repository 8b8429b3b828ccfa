/** Signing in and out. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { readFields, text, verbatim } from '../../gateway/web/fields.ts';
import { localPath } from '../../gateway/web/local-path.ts';
import { trySignIn } from '../../gateway/web/sign-in.ts';
import { dropSession, holdSession, sendSignIn } from '../../gateway/web/site.ts';
import type { AdminArea } from '../area.ts';

const REALM = 'operator';
const form = z.object({ email: text(254), password: verbatim(200), next: text(2_000) });

export function signInRoutes(scope: FastifyInstance, area: AdminArea): void {
  const { site, sessions, operators, throttle } = area;

  scope.post('/sign-in', { config: { open: true } }, async (request, reply) => {
    const { email, password, next: wanted } = readFields(form, request.body);
    const next = localPath(wanted, site.root);
    const find = (address: string) => operators.candidate(address);
    const outcome = await trySignIn(REALM, throttle, find, { email, password, address: request.ip });
    if (outcome.kind === 'wait') {
      reply.code(429).header('Retry-After', outcome.wait_s);
      const problem = `Too many attempts. Try again in ${outcome.wait_s} s.`;
      return sendSignIn(reply, site, { next, email, problem });
    }
    if (outcome.kind === 'wrong') {
      const problem = 'The e-mail address or the password is not right.';
      return sendSignIn(reply.code(401), site, { next, email, problem });
    }
    if (request.webSession) await sessions.end(request.webSession);
    const { subject, epoch } = outcome.candidate;
    holdSession(reply, site, await sessions.begin(subject, epoch));
    return reply.redirect(next, 303);
  });

  scope.post('/sign-out', { config: { everybody: true } }, async (request, reply) => {
    if (request.webSession) await sessions.end(request.webSession);
    dropSession(reply, site);
    return reply.redirect(`${site.root}/`, 303);
  });

  scope.post('/sign-out-everywhere', { config: { everybody: true } }, async (request, reply) => {
    if (request.person) await operators.endSessions(request.person.subject);
    dropSession(reply, site);
    return reply.redirect(`${site.root}/`, 303);
  });
}
