/** The forms of signing in and out, the same in every area: under the area's root, with its own people. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { type Candidate, trySignIn } from '../../accounts/sign-in/sign-in.ts';
import type { Throttle } from '../../accounts/sign-in/throttle.ts';
import { readFields, text, verbatim } from './fields.ts';
import { localPath } from './local-path.ts';
import { dropSession, holdSession, type Site, sendSignIn } from './site.ts';

const form = z.object({ email: text(254), password: verbatim(200), next: text(2_000) });
/** Whoever is signed in may leave, whatever else is left to them. */
const LEAVING = { config: { everybody: true, onlyPage: true } };

export interface SignInParts {
  /** Keeps the counters of one area apart from another's. */
  realm: string;
  throttle: Throttle;
  find(email: string): Promise<Candidate | null>;
  endSessions(subject: string): Promise<void>;
  /** Where signing out leads. */
  outside: string;
}

export function signInRoutes(
  scope: FastifyInstance,
  site: Site,
  { realm, throttle, find, endSessions, outside }: SignInParts,
): void {
  const { sessions } = site;

  scope.post('/sign-in', { config: { open: true } }, async (request, reply) => {
    const { email, password, next: wanted } = readFields(form, request.body);
    const next = localPath(wanted, site.root);
    const outcome = await trySignIn(realm, throttle, find, { email, password, address: request.ip });
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

  const leave = (reply: FastifyReply): FastifyReply => {
    dropSession(reply, site);
    return reply.redirect(outside, 303);
  };

  scope.post('/sign-out', LEAVING, async (request, reply) => {
    if (request.webSession) await sessions.end(request.webSession);
    return leave(reply);
  });

  scope.post('/sign-out-everywhere', LEAVING, async (request, reply) => {
    if (request.person) await endSessions(request.person.subject);
    return leave(reply);
  });
}
