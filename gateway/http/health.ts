/** `/healthz`: the process runs. `/readyz`: a snapshot is open and Redis is reachable. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Metering } from '../metering/metering.ts';
import type { Snapshots } from '../snapshot/store.ts';

export function installHealth(
  app: FastifyInstance,
  snapshots: Snapshots,
  metering: Pick<Metering, 'ready'>,
): void {
  const answer = (reply: FastifyReply, status: number, body: Record<string, unknown>): FastifyReply =>
    reply
      .code(status)
      .header('Cache-Control', 'no-store')

      .send(body);

  app.get('/healthz', (_request, reply) => answer(reply, 200, { status: 'ok' }));
  app.get('/readyz', (_request, reply) => {
    const snapshot = snapshots.current()?.id ?? null;
    const redis = metering.ready();
    const ready = snapshot !== null && redis;
    return answer(reply, ready ? 200 : 503, { status: ready ? 'ready' : 'not ready', snapshot, redis });
  });
}
