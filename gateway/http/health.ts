/**
 * `/healthz`: the process lives. `/readyz`: it can answer every call, that is, the files of a snapshot are there and Redis
 * takes writes; otherwise 503 with the causes.
 */
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Metering } from '../metering/metering.ts';
import type { Snapshots } from '../snapshot/store.ts';

export function installHealth(
  app: FastifyInstance,
  snapshots: Snapshots,
  metering: Pick<Metering, 'fault'>,
): void {
  const answer = (reply: FastifyReply, status: number, body: Record<string, unknown>): FastifyReply =>
    reply.code(status).header('Cache-Control', 'no-store').send(body);

  app.get('/healthz', (_request, reply) => answer(reply, 200, { status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const [snapshotFault, redisFault] = await Promise.all([snapshots.fault(), metering.fault()]);
    const state = { snapshot: snapshots.current()?.id ?? null, redis: redisFault === null };
    const causes = [snapshotFault, redisFault].filter((fault) => fault !== null);
    return causes.length === 0
      ? answer(reply, 200, { status: 'ready', ...state })
      : answer(reply, 503, { status: 'not ready', ...state, causes });
  });
}
