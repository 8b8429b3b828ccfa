/**
 * What clients of connections ask without a browser: metadata (RFC 9728, 8414), tokens, revocation (RFC 7009) and registration
 * (RFC 7591). Open to pages of every origin: no answer depends on a cookie.
 */
import formbody from '@fastify/formbody';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { addressUnit } from '../../api/metering/metering.ts';
import { hasTooManyPairs, parseQueryString } from '../../api/operations/operations.ts';
import type { Throttle, ThrottlePolicy } from '../people/people.ts';
import { AccountError } from '../store/store.ts';
import type { Authorizations } from './authorizations.ts';
import { type ClientStore, clientMetadata } from './clients.ts';
import { type ConnectionStore, SCOPE } from './connection-store.ts';

const BODY_MAX_BYTES = 8 * 1024;
/** Ten at once, then one in six minutes. */
const REGISTRATIONS_PER_ADDRESS: ThrottlePolicy = {
  free_attempts: 10,
  max_delay_ms: 3_600_000,
  decay_ms: 360_000,
};
/** From everywhere: two hundred at once, then as many an hour. Documents are the way for more. */
const REGISTRATIONS: ThrottlePolicy = { free_attempts: 200, max_delay_ms: 600_000, decay_ms: 18_000 };
const METADATA_MAX_AGE_S = 3_600;

interface OAuthParts {
  authorizations: Authorizations;
  clients: ClientStore;
  connections: ConnectionStore;
  throttle: Throttle;
  publicUrl: () => string;
}

/** An answer of RFC 6749 §5.2. */
class OAuthError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(code: string, message: string, status = 400) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

const verifier = z.string().regex(/^[A-Za-z0-9._~-]{43,128}$/);
const ofToken = { client_id: z.string(), resource: z.string() };
const tokenRequest = z.discriminatedUnion('grant_type', [
  z.object({
    ...ofToken,
    grant_type: z.literal('authorization_code'),
    code: z.string(),
    code_verifier: verifier,
    redirect_uri: z.string().default(''),
  }),
  z.object({ ...ofToken, grant_type: z.literal('refresh_token'), refresh_token: z.string() }),
]);
const revocation = z.object({ token: z.string(), client_id: z.string() });

export function installOAuth(app: FastifyInstance, parts: OAuthParts): void {
  app.register(async (scope) => {
    await installBodies(scope);
    scope.addHook('onRequest', async (_request, reply) => {
      reply.header('Access-Control-Allow-Origin', '*').header('Cache-Control', 'no-store');
    });
    scope.setErrorHandler((error: FastifyError, _request, reply) => sendError(error, reply));
    for (const [path, document] of metadata(parts)) {
      preflight(scope, path, 'GET');
      scope.get(path, async (_request, reply) =>
        reply.header('Cache-Control', `public, max-age=${METADATA_MAX_AGE_S}`).send(document()),
      );
    }
    const post = (
      path: string,
      handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
    ) => {
      preflight(scope, path, 'POST');
      scope.post(path, handler);
    };
    post('/oauth/token', async ({ body }) => giveTokens(parts, body));
    post('/oauth/revoke', async ({ body }, reply) => {
      const { token, client_id } = read(revocation, body);
      await parts.connections.revoke(token, client_id);
      return reply.code(200).send();
    });
    post('/oauth/register', async ({ body, ip }, reply) => {
      await throttleRegistration(parts.throttle, ip);
      return reply.code(201).send(await register(parts.clients, body));
    });
  });
}

async function installBodies(scope: FastifyInstance): Promise<void> {
  scope.removeAllContentTypeParsers();
  await scope.register(formbody, { bodyLimit: BODY_MAX_BYTES, parser: parseForm });
  const options = { parseAs: 'string', bodyLimit: BODY_MAX_BYTES } as const;
  scope.addContentTypeParser('application/json', options, scope.getDefaultJsonParser('ignore', 'ignore'));
}

const parseForm = (text: string): Record<string, unknown> =>
  hasTooManyPairs(text) ? {} : { ...parseQueryString(text) };

function preflight(scope: FastifyInstance, path: string, methods: string): void {
  scope.options(path, async (_request, reply) =>
    reply
      .code(204)
      .headers({
        'Access-Control-Allow-Methods': methods,
        'Access-Control-Allow-Headers': 'Authorization, Content-Type, MCP-Protocol-Version',
        'Access-Control-Max-Age': '86400',
      })
      .send(),
  );
}

const RESOURCE_PATHS = ['/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/mcp'];

function metadata({ authorizations, publicUrl }: OAuthParts): [path: string, document: () => object][] {
  const resource = () => ({
    resource: authorizations.resource,
    authorization_servers: [publicUrl()],
    scopes_supported: [SCOPE],
    bearer_methods_supported: ['header'],
    resource_name: 'Almanac',
    resource_documentation: `${publicUrl()}/docs/agents`,
  });
  const server = () => ({
    issuer: publicUrl(),
    authorization_endpoint: `${publicUrl()}/account/connect`,
    token_endpoint: `${publicUrl()}/oauth/token`,
    revocation_endpoint: `${publicUrl()}/oauth/revoke`,
    registration_endpoint: `${publicUrl()}/oauth/register`,
    scopes_supported: [SCOPE],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    protected_resources: [authorizations.resource],
    service_documentation: `${publicUrl()}/docs/agents`,
  });
  return [
    ...RESOURCE_PATHS.map((path): [string, () => object] => [path, resource]),
    ['/.well-known/oauth-authorization-server', server],
  ];
}

async function giveTokens({ authorizations, connections }: OAuthParts, body: unknown): Promise<object> {
  const sent = read(tokenRequest, body);
  if (sent.resource !== authorizations.resource)
    throw new OAuthError('invalid_target', `The resource is ${authorizations.resource}.`);
  const { client_id } = sent;
  const given =
    sent.grant_type === 'refresh_token'
      ? await connections.refresh(sent.refresh_token, client_id)
      : await connections.redeem({ ...sent, verifier: sent.code_verifier });
  if (given === null)
    throw new OAuthError('invalid_grant', 'It is unknown, expired, used, ended or of another client.');
  return given;
}

async function throttleRegistration(throttle: Throttle, address: string): Promise<void> {
  const wait_s = await throttle.attemptAll([
    ['oauth-registration', addressUnit(address), REGISTRATIONS_PER_ADDRESS],
    ['oauth-registration', 'all', REGISTRATIONS],
  ]);
  if (wait_s > 0) throw new OAuthError('too_many_requests', `Too many registrations: wait ${wait_s} s.`, 429);
}

async function register(clients: ClientStore, body: unknown): Promise<object> {
  const parsed = clientMetadata.safeParse(body);
  if (!parsed.success) {
    const isRedirect = parsed.error.issues.every(({ path }) => path[0] === 'redirect_uris');
    const code = isRedirect ? 'invalid_redirect_uri' : 'invalid_client_metadata';
    throw new OAuthError(code, z.prettifyError(parsed.error));
  }
  const { client_name, redirect_uris } = parsed.data;
  return {
    client_id: await clients.register(parsed.data),
    client_name,
    redirect_uris,
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    scope: SCOPE,
  };
}

function read<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body ?? {});
  if (parsed.success) return parsed.data;
  const [name] = parsed.error.issues[0]?.path ?? [];
  if (name === 'resource') throw new OAuthError('invalid_target', 'The resource is needed, once.');
  if (name === 'grant_type')
    throw new OAuthError('unsupported_grant_type', 'It is authorization_code or refresh_token.');
  throw new OAuthError('invalid_request', `${String(name ?? 'The request')} is needed, once.`);
}

function sendError(error: FastifyError, reply: FastifyReply): FastifyReply {
  if (error instanceof OAuthError)
    return reply.code(error.status).send({ error: error.code, error_description: error.message });
  if (error instanceof AccountError && error.code === 'unavailable')
    return reply.code(503).send({ error: 'temporarily_unavailable', error_description: error.message });
  if (error.statusCode !== undefined && error.statusCode < 500)
    return reply
      .code(error.statusCode)
      .send({ error: 'invalid_request', error_description: 'Not readable.' });
  throw error;
}
