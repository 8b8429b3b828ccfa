/**
 * What directories of MCP servers fetch: `/server.json`, which describes `/mcp` to the registry of the protocol, and the files by
 * which they check whose domain it is, under `/.well-known/`.
 */
import { isIP } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Settings } from '../../../data/runtime/settings.ts';
import { readWellKnown } from '../../../data/runtime/settings-schema.ts';
import type { Description } from './description.ts';

const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';
/** At most 100 characters. */
const SUMMARY =
  'Statistics about countries: exact figures with unit, year, source and licence, or a plain refusal.';

/** @returns null where no directory can reach the service: it is named by a domain, over https */
function serverJson(publicUrl: string, { implementation }: Pick<Description, 'implementation'>) {
  const { protocol, hostname } = new URL(publicUrl);
  if (protocol !== 'https:' || isIP(hostname) !== 0 || hostname.startsWith('[')) return null;
  const { name, ...about } = implementation;
  return {
    $schema: SCHEMA,
    name: `${hostname.split('.').toReversed().join('.')}/${name}`,
    description: SUMMARY,
    ...about,
    remotes: [{ type: 'streamable-http', url: `${publicUrl}/mcp` }],
  };
}

export function installListing(
  app: FastifyInstance,
  publicUrl: string,
  description: Pick<Description, 'implementation'>,
  { WELL_KNOWN }: Pick<Settings, 'WELL_KNOWN'>,
): void {
  for (const [name, text] of readWellKnown(WELL_KNOWN) ?? [])
    app.get(`/.well-known/${name}`, (_request, reply) =>
      reply.header('Cache-Control', 'no-cache').type('text/plain; charset=utf-8').send(text),
    );
  const document = serverJson(publicUrl, description);
  if (document !== null)
    app.get('/server.json', (_request, reply) =>
      reply.header('Access-Control-Allow-Origin', '*').header('Cache-Control', 'no-cache').send(document),
    );
}
