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
import { type Examples, type OperationExamples, readExamples, readExamplesOf } from './openapi-examples.ts';
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

export function installOpenApi(app: FastifyInstance, dependencies: DescriptionDependencies): void {
  const read = documentReader(dependencies);
  for (const [path, prefix] of Object.entries(DESCRIPTIONS)) {
    app.get(path, async ({ query }, reply) => {
      const { format: sent } = query as RawParameters;
      const format = FORMATS.find((name) => name === sent);
      const open = reply.header('Access-Control-Allow-Origin', '*').type('application/json; charset=utf-8');
      if (sent !== undefined && format === undefined)
        return open.code(404).header('Cache-Control', 'no-store').send(errorBody(NO_SUCH_FORMAT));
      const body = await read(prefix, format);
      return open.header('Cache-Control', 'public, max-age=3600').send(body);
    });
  }
}

/** What is made once a snapshot. */
interface Made {
  snapshot: Snapshot | null;
  examples: Promise<Examples>;
  bodies: Map<string, Buffer>;
}

function documentReader({ current, log, publicUrl }: DescriptionDependencies) {
  const begin = (snapshot: Snapshot | null): Made => ({
    snapshot,
    bodies: new Map(),
    examples: readExamples(snapshot, publicUrl).catch((error: unknown) => {
      log.warn({ err: error }, 'the API description has no examples');
      return {};
    }),
  });
  let made: Made | undefined;
  /** @param format the only one to describe */
  return async (prefix: string, format: string | undefined): Promise<Buffer> => {
    const snapshot = current();
    if (made?.snapshot !== snapshot) made = begin(snapshot);
    const { bodies } = made;
    // Before the look for a body, so that those who wait together build it once.
    const examples = await made.examples;
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
