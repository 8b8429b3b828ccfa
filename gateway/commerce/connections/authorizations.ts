/**
 * Authorization requests (RFC 6749 with PKCE, 8707 and 9207): checked when a client sends a person here, kept until the person
 * answers, and answered by a redirect to the client.
 *
 * What is wrong about the client, or about where its answer would go, is told to the person and never redirected. All else is told
 * to the client, and every answer to it names this server, so that a client of several cannot mix them up.
 */
import { z } from 'zod';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { type AccountError, badInput, Store, type StoreDependencies } from '../store/store.ts';
import { type ClientStore, client, expectRedirect } from './clients.ts';
import { type ConnectionStore, type NewConnection, newSecret } from './connection-store.ts';
import { redirectHost, withParameters } from './redirects.ts';

/** Time to sign in, with a second factor, and to decide. */
const REQUEST_TTL_MS = 900_000;
const MAX_STATE_LENGTH = 2_000;
const REQUEST_ID = /^[A-Za-z0-9_-]{43}$/;

const authorizationRequest = z.object({
  request_id: z.string(),
  client,
  /** Of the client's document, else where the answer goes. */
  host: z.string(),
  redirect_uri: z.string(),
  state: z.string().nullable(),
  challenge: z.string(),
});

/** What a client asks a person for. */
export type AuthorizationRequest = z.infer<typeof authorizationRequest>;

/** What a person allows. */
type Allowance = Pick<NewConnection, 'account_id' | 'person_id' | 'monthly_limit' | 'expires_at_ms'>;

const once = z.string().optional().catch('');
const asked = z.object({
  response_type: once,
  code_challenge: once,
  code_challenge_method: once,
  resource: once,
});
const S256 = /^[A-Za-z0-9_-]{43}$/;

type Problem = [error: string, description: string];

interface Dependencies extends StoreDependencies {
  clients: ClientStore;
  connections: ConnectionStore;
  /** Public base URL, without a trailing slash: the name of this server. */
  publicUrl: () => string;
}

export class Authorizations extends Store<Dependencies> {
  /** What access is for: the only resource of this server. */
  get resource(): string {
    return `${this.deps.publicUrl()}/mcp`;
  }

  /**
   * Checks a request and keeps it. @param query as it was sent
   * @returns its id, or where to tell its client what is wrong
   * @throws {AccountError} `bad_input` for the person
   */
  async begin(
    query: Readonly<Record<string, unknown>>,
  ): Promise<{ request_id: string } | { redirect: string }> {
    const { client_id, redirect_uri, state = null } = query;
    if (typeof client_id !== 'string') throw incomplete('client_id');
    if (typeof redirect_uri !== 'string') throw incomplete('redirect_uri');
    if (state !== null && (typeof state !== 'string' || state.length > MAX_STATE_LENGTH))
      throw incomplete('state');
    const found = await this.deps.clients.find(client_id);
    expectRedirect(found, redirect_uri);
    const problem = this.#problemOf(asked.parse(query));
    if (problem !== null) return { redirect: this.#refusal({ redirect_uri, state }, problem) };
    const request_id = newSecret(this.random);
    const host = found.kind === 'document' ? new URL(client_id).host : redirectHost(redirect_uri);
    const challenge = String(query.code_challenge);
    const request = { request_id, client: found, host, redirect_uri, state, challenge };
    const key = redisKeys.authorization(request_id);
    await this.redis.set(key, JSON.stringify(request), 'PX', REQUEST_TTL_MS);
    return { request_id };
  }

  #problemOf(query: z.infer<typeof asked>): Problem | null {
    if (query.response_type !== 'code')
      return ['unsupported_response_type', 'The only response_type is code.'];
    if (query.code_challenge_method !== 'S256' || !S256.test(query.code_challenge ?? ''))
      return ['invalid_request', 'A code_challenge with code_challenge_method S256 is needed.'];
    if (query.resource !== this.resource)
      return ['invalid_target', `The resource is needed, and it is ${this.resource}.`];
    return null;
  }

  /** Null once it was answered, or took too long. */
  async find(request_id: string): Promise<AuthorizationRequest | null> {
    if (!REQUEST_ID.test(request_id)) return null;
    const text = await this.redis.get(redisKeys.authorization(request_id));
    return text === null ? null : authorizationRequest.parse(JSON.parse(text));
  }

  /**
   * @returns the new connection, and where to send the browser, with a code
   * @throws {AccountError} `bad_input`, `member_refused`, `account_state`, `too_many_keys`; the request then stays
   */
  async allow(
    request: AuthorizationRequest,
    allowance: Allowance,
  ): Promise<{ connection_id: string; url: string }> {
    const { request_id, client, host, redirect_uri, state, challenge } = request;
    const { client_id, name: client_name } = client;
    const facts = { client_id, client_name, host, redirect_uri, challenge };
    const { connection_id, code } = await this.deps.connections.create({ ...allowance, ...facts });
    await this.#end(request_id);
    await this.deps.clients.noteUse(client);
    return { connection_id, url: withParameters(redirect_uri, { code, state, iss: this.deps.publicUrl() }) };
  }

  /** @returns where to send the browser */
  async deny(request: AuthorizationRequest): Promise<string> {
    await this.#end(request.request_id);
    return this.#refusal(request, ['access_denied', 'The person did not allow it.']);
  }

  /** @throws {AccountError} `bad_input` when it was answered meanwhile */
  async #end(request_id: string): Promise<void> {
    if ((await this.redis.del(redisKeys.authorization(request_id))) === 0)
      throw badInput('This was answered already. Begin again where you came from.');
  }

  #refusal(
    { redirect_uri, state }: Pick<AuthorizationRequest, 'redirect_uri' | 'state'>,
    [error, error_description]: Problem,
  ): string {
    return withParameters(redirect_uri, { error, error_description, state, iss: this.deps.publicUrl() });
  }
}

const incomplete = (name: string): AccountError =>
  badInput(`This program cannot be connected: its request has no usable ${name}.`);
