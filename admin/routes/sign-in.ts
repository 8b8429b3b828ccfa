/** Signing in and out. */
import type { FastifyInstance } from 'fastify';
import { signInRoutes as commonRoutes } from '../../gateway/pages/shared/sign-in-routes.ts';
import type { AdminArea } from '../context.ts';

export function signInRoutes(scope: FastifyInstance, { site, operators, throttle }: AdminArea): void {
  commonRoutes(scope, site, {
    realm: 'operator',
    throttle,
    find: (address) => operators.candidate(address),
    endSessions: (subject) => operators.endSessions(subject),
    outside: `${site.root}/`,
  });
}
