/** A client of connections as it stands on the wire, without a library, and the person who answers it. */
import { createHash, randomBytes } from 'node:crypto';
import type { AccountPagesHarness, Customer } from './pages/harness.ts';

export const CALLBACK = 'https://host.test/callback';
const DAY_MS = 86_400_000;
const LIFE = 'alpha.life_expectancy';

export interface Pending {
  client_id: string;
  verifier: string;
  parameters: Record<string, string>;
}

export interface Tokens {
  access_token: string;
  refresh_token: string;
  expires_in: number;
}

// biome-ignore lint/suspicious/noExplicitAny: the very shape is what tests look at
type Json = any;

export interface Sent {
  status: number;
  headers: Headers;
  json: Json;
}

let addresses = 0;

export class OAuthClient {
  readonly harness: AccountPagesHarness;
  /** Each client has its own address, so that tests do not throttle each other. */
  readonly headers: Record<string, string>;

  constructor(harness: AccountPagesHarness) {
    this.harness = harness;
    addresses += 1;
    this.headers = { 'x-forwarded-for': `10.9.${addresses >> 8}.${addresses & 255}` };
  }

  async send(path: string, init: RequestInit = {}): Promise<Sent> {
    const headers = { ...this.headers, ...(init.headers as Record<string, string>) };
    const response = await fetch(this.harness.url + path, { redirect: 'manual', ...init, headers });
    const text = await response.text();
    const type = response.headers.get('content-type') ?? '';
    const data = type.startsWith('text/event-stream') ? /^data: (.+)$/m.exec(text)?.[1] : undefined;
    const isJson = data !== undefined || (type.startsWith('application/json') && text !== '');
    return {
      status: response.status,
      headers: response.headers,
      json: isJson ? JSON.parse(data ?? text) : text,
    };
  }

  register(metadata: Json = { client_name: 'Test host', redirect_uris: [CALLBACK] }): Promise<Sent> {
    const headers = { 'content-type': 'application/json' };
    return this.send('/oauth/register', { method: 'POST', headers, body: JSON.stringify(metadata) });
  }

  /** The parameters of a request that nothing is wrong with, for a client that registers here unless it is given. */
  async begin(client_id?: string): Promise<Pending> {
    const id = client_id ?? (await this.register()).json.client_id;
    const verifier = randomBytes(32).toString('base64url');
    const parameters = {
      client_id: id,
      redirect_uri: CALLBACK,
      response_type: 'code',
      state: 'a state & more',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      resource: `${this.harness.url}/mcp`,
      scope: 'read',
    };
    return { client_id: id, verifier, parameters };
  }

  /** @returns where the browser is sent */
  async authorize(
    parameters: Record<string, string> | string,
  ): Promise<{ status: number; location: string }> {
    const { status, headers } = await this.send(`/account/connect?${new URLSearchParams(parameters)}`);
    return { status, location: headers.get('location') ?? '' };
  }

  /** A person allows what a client has asked for. @returns the parameters of the answer */
  async allow(
    { account_id, person_id }: Pick<Customer, 'account_id' | 'person_id'>,
    { parameters }: Pending,
    { monthly_limit = 1_000, days = 30 } = {},
  ): Promise<URLSearchParams> {
    const { authorizations } = this.harness.context;
    const { location } = await this.authorize(parameters);
    const request = await authorizations.find(location.split('/').at(-1) ?? '');
    if (request === null) throw new Error(`there is no request at ${location}`);
    const terms = { monthly_limit, expires_at_ms: this.harness.clock.ms + days * DAY_MS };
    const { url } = await authorizations.allow(request, { account_id, person_id, ...terms });
    return new URL(url).searchParams;
  }

  token(fields: Record<string, string>): Promise<Sent> {
    return this.send('/oauth/token', { method: 'POST', body: new URLSearchParams(fields) });
  }

  redeem({ client_id, verifier }: Pending, code: string, more: Record<string, string> = {}): Promise<Sent> {
    return this.token({
      grant_type: 'authorization_code',
      code,
      client_id,
      redirect_uri: CALLBACK,
      code_verifier: verifier,
      resource: `${this.harness.url}/mcp`,
      ...more,
    });
  }

  refresh(client_id: string, refresh_token: string, more: Record<string, string> = {}): Promise<Sent> {
    const resource = `${this.harness.url}/mcp`;
    return this.token({ grant_type: 'refresh_token', client_id, refresh_token, resource, ...more });
  }

  revoke(client_id: string, token: string): Promise<Sent> {
    return this.send('/oauth/revoke', { method: 'POST', body: new URLSearchParams({ client_id, token }) });
  }

  /** Begins, and is allowed. */
  async codeFrom(
    person: Pick<Customer, 'account_id' | 'person_id'>,
    terms?: { monthly_limit?: number; days?: number },
  ): Promise<{ pending: Pending; code: string }> {
    const pending = await this.begin();
    return { pending, code: (await this.allow(person, pending, terms)).get('code') ?? '' };
  }

  /** All steps. */
  async connect(
    person: Pick<Customer, 'account_id' | 'person_id'>,
    terms: { monthly_limit?: number; days?: number } = {},
  ): Promise<Tokens & Pending & { code: string; connection_id: string }> {
    const { pending, code } = await this.codeFrom(person, terms);
    const { json } = await this.redeem(pending, code);
    return { ...pending, ...json, code, connection_id: code.split('.')[0] };
  }

  /** Asks `/mcp` for a figure, which costs a credit. */
  figure(token: string | null, headers: Record<string, string> = {}): Promise<Sent> {
    const params = { name: 'get_data', arguments: { indicators: [LIFE], countries: ['Kenya'] } };
    return this.message('tools/call', params, token, headers);
  }

  message(
    method: string,
    params: Json,
    token: string | null,
    more: Record<string, string> = {},
  ): Promise<Sent> {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-06-18',
      ...more,
      ...(token !== null && { authorization: `Bearer ${token}` }),
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    return this.send('/mcp', { method: 'POST', headers, body });
  }
}

/** What a call of a tool has cost. */
export const chargedBy = ({ json }: Sent): number | undefined =>
  json.result?.structuredContent?.credits?.charged;
