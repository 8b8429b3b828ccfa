/** The signed head of the log and its public keys, as files that anybody may fetch and keep. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Snapshots } from '../../snapshot/editions/store.ts';
import { PREFIXES } from './public-api.ts';

const KEYS_PATH = '/.well-known/almanac-keys.json';
const CHECKPOINT_PATHS = PREFIXES.map((prefix) => `${prefix}/log/checkpoint`);
export const LOG_PATHS = [KEYS_PATH, ...CHECKPOINT_PATHS];

export function installPublishedLog(app: FastifyInstance, snapshots: Snapshots): void {
  const send = async (
    reply: FastifyReply,
    type: string,
    read: () => Promise<string | Buffer> | undefined,
  ) => {
    reply.header('Access-Control-Allow-Origin', '*');
    const body = await read()?.catch(() => undefined);
    return body === undefined
      ? reply.code(503).header('Cache-Control', 'no-store').send({ error: 'nothing is signed yet' })
      : reply.header('Cache-Control', 'no-cache').type(type).send(body);
  };
  const log = () => snapshots.current()?.editions.signedLog;
  app.get(KEYS_PATH, (_request, reply) =>
    send(reply, 'application/json; charset=utf-8', () => log()?.keys()),
  );
  for (const path of CHECKPOINT_PATHS) {
    app.get(path, (_request, reply) =>
      send(reply, 'text/plain; charset=utf-8', () =>
        log()
          ?.head()
          .then(({ checkpoint }) => checkpoint),
      ),
    );
  }
}
