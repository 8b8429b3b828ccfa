/** `/healthz`: the process lives. `/readyz`: it can answer every call; otherwise 503 with the causes. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { type ReadinessParts, readiness } from '../../status/readiness.ts';

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
