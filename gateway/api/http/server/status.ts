/** `/status.json`: the facts of the status page, for monitors and dashboards, also while nothing is served. */
import type { FastifyInstance } from 'fastify';
import type { ServiceStatusReader } from '../../status/service-status.ts';

const MAX_AGE_S = 15;

export function installStatus(app: FastifyInstance, status: ServiceStatusReader): void {
  app.get('/status.json', async (_request, reply) => {
    reply.header('Access-Control-Allow-Origin', '*').header('Cache-Control', `public, max-age=${MAX_AGE_S}`);
    return reply.send(await status.read());
  });
}
