/**
 * `/healthz`: the process lives. `/readyz`: it can answer every call; otherwise 503 with the causes. `/status.json`: the facts
 * of the status page, for monitors and dashboards, also while nothing is served.
 */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { type ReadinessParts, readiness, type ServiceStatusReader } from '../../status/status.ts';

const STATUS_MAX_AGE_S = 15;

export function installHealth(app: FastifyInstance, parts: ReadinessParts): void {
  const answer = (reply: FastifyReply, status: number, body: Record<string, unknown>): FastifyReply =>
    reply.code(status).header('Cache-Control', 'no-store').send(body);

  app.get('/healthz', (_request, reply) => answer(reply, 200, { status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const { snapshot, takesWrites, causes } = await readiness(parts);
    const state = { snapshot, redis: takesWrites };
    return causes.length === 0
      ? answer(reply, 200, { status: 'ready', ...state })
      : answer(reply, 503, { status: 'not ready', ...state, causes });
  });
}

export function installStatus(app: FastifyInstance, status: ServiceStatusReader): void {
  app.get('/status.json', async (_request, reply) => {
    reply.header('Access-Control-Allow-Origin', '*');
    return reply.header('Cache-Control', `public, max-age=${STATUS_MAX_AGE_S}`).send(await status.read());
  });
}
