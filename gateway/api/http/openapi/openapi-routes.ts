/** The machine-readable description at its addresses, with examples from the snapshot that is served. */
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { ApiError } from '../../core/errors.ts';
import { FORMATS } from '../../encoders/encoders.ts';
import type { RawParameters } from '../../operations/operations.ts';
import type { Snapshot } from '../../snapshot/snapshot.ts';
import { DOCUMENTED_PREFIX } from '../api/public-api.ts';
import { errorBody } from '../api/response.ts';
import { buildOpenApi } from './openapi.ts';
import type { Json } from './openapi-components.ts';
import { type OperationExamples, readExamples, readExamplesOf } from './openapi-examples.ts';
import { inFormat } from './openapi-format.ts';

const SHORT_PREFIX = '/v1';

/** Where the description is, and the prefix of the routes that it lists. */
const DESCRIPTIONS = {
  '/openapi.json': DOCUMENTED_PREFIX,
  '/data/api/openapi.json': DOCUMENTED_PREFIX,
  '/v1/openapi.json': SHORT_PREFIX,
  '/docs/openapi.json': SHORT_PREFIX,
} as const;
export const OPENAPI_PATHS = Object.keys(DESCRIPTIONS);

export interface DescriptionDependencies {
  /** The snapshot that is served. */
  current: () => Snapshot | null;
  /** Where callers reach the service. */
  publicUrl: string;
  log: Logger;
}

const NO_SUCH_FORMAT: ApiError = {
  code: 'not_found',
  message: `There is a description of each of these formats: ${FORMATS.join(', ')}.`,
};

/** @param format the only one to describe */
type Documents = (prefix: string, format?: string) => Buffer;

export function installOpenApi(app: FastifyInstance, dependencies: DescriptionDependencies): void {
  const documents = documentsReader(dependencies);
  for (const [path, prefix] of Object.entries(DESCRIPTIONS)) {
    app.get(path, async ({ query }, reply) => {
      const { format: sent } = query as RawParameters;
      const format = FORMATS.find((name) => name === sent);
      const open = reply.header('Access-Control-Allow-Origin', '*').type('application/json; charset=utf-8');
      if (sent !== undefined && format === undefined)
        return open.code(404).header('Cache-Control', 'no-store').send(errorBody(NO_SUCH_FORMAT));
      const body = (await documents())(prefix, format);
      return open.header('Cache-Control', 'public, max-age=3600').send(body);
    });
  }
}

/** Builds each document once a snapshot. */
function documentsReader(dependencies: DescriptionDependencies): () => Promise<Documents> {
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
  { log, publicUrl }: DescriptionDependencies,
): Promise<Documents> {
  const examples = await readExamples(snapshot, publicUrl).catch((error: unknown) => {
    log.warn({ err: error }, 'the API description has no examples');
    return {};
  });
  const bodies = new Map<string, Buffer>();
  return (prefix, format) => {
    const name = `${prefix} ${format}`;
    const known = bodies.get(name);
    if (known !== undefined) return known;
    const whole = buildOpenApi(examples, prefix, publicUrl);
    const body = Buffer.from(JSON.stringify(format === undefined ? whole : inFormat(whole, format)));
    bodies.set(name, body);
    return body;
  };
}

/** For pages that explain the API: the description without examples, and those of one operation at a time. */
export function apiReference({ current, publicUrl }: Omit<DescriptionDependencies, 'log'>) {
  let description: Json | undefined;
  return {
    description: (): Json => {
      description ??= buildOpenApi({}, SHORT_PREFIX, publicUrl);
      return description;
    },
    examples: (operation: string): Promise<OperationExamples> =>
      readExamplesOf(operation, current(), publicUrl),
  };
}
