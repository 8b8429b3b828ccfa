/** The worker's health endpoint, for containers: `GET /healthz` is 200 while its Redis answers, else 503. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RedisClient } from '../../data/runtime/redis.ts';

const ANSWER_WITHIN_MS = 2_000;

/** @returns a function that stops it. */
export async function serveWorkerHealth(
  redis: RedisClient,
  { port, host }: { port: number; host: string },
): Promise<() => void> {
  const server = createServer(async (request, response) => {
    const isKnown = request.method === 'GET' && request.url === '/healthz';
    response.writeHead(isKnown ? ((await answers(redis)) ? 200 : 503) : 404).end();
  });
  server.listen(port, host);
  await once(server, 'listening');
  return () => {
    server.close();
    server.closeAllConnections();
  };
}

async function answers(redis: RedisClient): Promise<boolean> {
  const timeout = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => timeout.resolve(false), ANSWER_WITHIN_MS);
  const ping = redis.ping().then(
    () => true,
    () => false,
  );
  return Promise.race([ping, timeout.promise]).finally(() => clearTimeout(timer));
}
