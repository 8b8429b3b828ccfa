/**
 * The machine-readable description at `/openapi.json`, and docs for people at `/docs` that can send a call. Examples come
 * from the snapshot that is served. Nothing on the page comes from another host, and its content policy says so.
 *
 * Of Swagger UI only the script and the stylesheet are used, as `@fastify/swagger-ui` ships them; the page is ours.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { FORMATS } from '../../encoders/registry.ts';
import type { ApiError } from '../../errors.ts';
import type { RawParameters } from '../../operations/parameters.ts';
import type { Snapshot } from '../../snapshot/snapshot.ts';
import { buildOpenApi } from '../openapi.ts';
import type { Json } from '../openapi-components.ts';
import { readExamples } from '../openapi-examples.ts';
import { inFormat } from '../openapi-format.ts';
import { DOCUMENTED_PREFIX } from '../public-api.ts';
import { errorBody } from '../response.ts';

/** Where the description is, and the prefix of the routes that it lists. */
const DESCRIPTIONS = {
  '/openapi.json': DOCUMENTED_PREFIX,
  '/data/api/openapi.json': DOCUMENTED_PREFIX,
  '/v1/openapi.json': '/v1',
} as const;
export const OPENAPI_PATHS = Object.keys(DESCRIPTIONS);

const DOCS = '/docs';
const PAGE_DOCUMENT = `${DOCS}/openapi.json`;
const PAGE_PREFIX = '/v1';
const CONTENT_POLICY = [
  "default-src 'self'",
  "img-src 'self' data:",
  // The library styles its elements; styles cannot call anywhere under this policy.
  "style-src 'self' 'unsafe-inline'",
  "base-uri 'none'",
  "object-src 'none'",
  "frame-ancestors 'none'",
].join('; ');

const own = (name: string): string => join(import.meta.dirname, name);
const library = dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui/package.json'));
const ASSETS: readonly [name: string, type: string, file: string][] = [
  ['swagger-ui.js', 'text/javascript', join(library, 'static/swagger-ui-bundle.js')],
  ['swagger-ui.css', 'text/css', join(library, 'static/swagger-ui.css')],
  ['docs.js', 'text/javascript', own('docs.js')],
  ['docs.css', 'text/css', own('docs.css')],
];

export interface DocsDependencies {
  /** The snapshot that is served. */
  current: () => Snapshot | null;
  /** Of the service, where it is known. */
  publicUrl: string | undefined;
  log: Logger;
}

const NO_SUCH_FORMAT: ApiError = {
  code: 'not_found',
  message: `There is a description of each of these formats: ${FORMATS.join(', ')}.`,
};

interface Documents {
  /** @param format the only one to describe */
  openApi(prefix: string, format?: string): Buffer;
  /** For the page: with the short paths, and a lock only where a key is needed. */
  page: Buffer;
}

export function installDocs(app: FastifyInstance, dependencies: DocsDependencies): void {
  const documents = documentsReader(dependencies);
  for (const [path, prefix] of Object.entries(DESCRIPTIONS)) {
    app.get(path, async ({ query }, reply) => {
      const { format: sent } = query as RawParameters;
      const format = FORMATS.find((name) => name === sent);
      const open = reply.header('Access-Control-Allow-Origin', '*').type('application/json; charset=utf-8');
      if (sent !== undefined && format === undefined)
        return open.code(404).header('Cache-Control', 'no-store').send(errorBody(NO_SUCH_FORMAT));
      const body = (await documents()).openApi(prefix, format);
      return open.header('Cache-Control', 'public, max-age=3600').send(body);
    });
  }
  app.get(PAGE_DOCUMENT, async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send((await documents()).page),
  );
  const page = readFileSync(own('page.html'));
  app.get(DOCS, (_request, reply) =>
    reply.header('Content-Security-Policy', CONTENT_POLICY).type('text/html; charset=utf-8').send(page),
  );
  for (const [name, type, file] of ASSETS) installAsset(app, `${DOCS}/${name}`, type, file);
}

function installAsset(app: FastifyInstance, path: string, type: string, file: string): void {
  const plain = readFileSync(file);
  let gzip: Buffer | undefined;
  app.get(path, ({ headers }, reply) => {
    reply.headers({ 'Cache-Control': 'public, max-age=3600', Vary: 'Accept-Encoding' });
    reply.type(`${type}; charset=utf-8`);
    if (!/\bgzip\b/.test(headers['accept-encoding'] ?? '')) return reply.send(plain);
    gzip ??= gzipSync(plain);
    return reply.header('Content-Encoding', 'gzip').send(gzip);
  });
}

/** Builds the documents once a snapshot. */
function documentsReader(dependencies: DocsDependencies): () => Promise<Documents> {
  let known: { snapshot: Snapshot | null; documents: Promise<Documents> } | undefined;
  return () => {
    const snapshot = dependencies.current();
    if (known?.snapshot !== snapshot || known === undefined)
      known = { snapshot, documents: buildDocuments(snapshot, dependencies) };
    return known.documents;
  };
}

async function buildDocuments(
  snapshot: Snapshot | null,
  { log, publicUrl }: DocsDependencies,
): Promise<Documents> {
  const examples = await readExamples(snapshot, publicUrl).catch((error: unknown) => {
    log.warn({ err: error }, 'the API description has no examples');
    return {};
  });
  const { servers: _any, ...page } = buildOpenApi(examples, PAGE_PREFIX, publicUrl);
  const bodies = new Map<string, Buffer>();
  const openApi: Documents['openApi'] = (prefix, format) => {
    const name = `${prefix} ${format}`;
    const known = bodies.get(name);
    if (known !== undefined) return known;
    const whole = buildOpenApi(examples, prefix, publicUrl);
    const body = Buffer.from(JSON.stringify(format === undefined ? whole : inFormat(whole, format)));
    bodies.set(name, body);
    return body;
  };
  return {
    openApi,
    page: Buffer.from(JSON.stringify({ ...page, paths: locksWhereNeeded(page.paths as Paths) })),
  };
}

type Paths = Record<string, { get: { security: Json[] } }>;

/** The library shows a lock for a key that may be left out, too. */
const locksWhereNeeded = (paths: Paths): Paths =>
  Object.fromEntries(
    Object.entries(paths).map(([path, { get }]) => {
      const isOptional = get.security.some((scheme) => Object.keys(scheme).length === 0);
      return [path, { get: isOptional ? { ...get, security: [] } : get }];
    }),
  );
