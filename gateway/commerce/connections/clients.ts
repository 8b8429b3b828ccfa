/**
 * Clients: known by a document at their own https address, which is their id, or registered by themselves.
 *
 * A document is fetched under the rules of webhooks: no private address, no redirect, bounded in size and time. A registration needs
 * no more than a request, so it says nothing about who made it, expires unless somebody connects, and is throttled.
 */
import { LRUCache } from 'lru-cache';
import { request } from 'undici';
import { z } from 'zod';
import { DAY_MS, redisKeys } from '../../../data/schema/redis-keys.ts';
import { guardedAgent, readAtMost } from '../notifications/notifications.ts';
import { type AccountError, badInput, Store, type StoreDependencies } from '../store/store.ts';
import { matchesRedirect, redirectProblem } from './redirects.ts';

const DOCUMENT_MAX_BYTES = 8 * 1024;
const FETCH_TIMEOUT_MS = 5_000;
const CACHED_DOCUMENTS = 500;
const DOCUMENT_FRESH_MS = 600_000;
const MAX_NAME_LENGTH = 80;
const MAX_ID_LENGTH = 500;
/** A registration that nobody has used. */
const UNUSED_TTL_MS = DAY_MS;
/** Longer than a connection lasts, after the last that was allowed. */
const USED_TTL_MS = 400 * DAY_MS;

export const client = z.object({
  client_id: z.string(),
  /** As it calls itself. */
  name: z.string(),
  /** `document`: the host of its id vouches for it; `registered`: nobody does. */
  kind: z.enum(['document', 'registered']),
  redirect_uris: z.array(z.string()),
});
export type Client = z.infer<typeof client>;

/** What clients say of themselves, in a document or a registration (RFC 7591). All else is ignored, pictures included. */
export const clientMetadata = z.object({
  client_name: z.string().max(1_000).default(''),
  redirect_uris: z
    .array(z.string().refine((uri) => redirectProblem(uri) === null, 'a redirect that cannot be used'))
    .min(1)
    .max(20),
  token_endpoint_auth_method: z.string().default('none'),
});
export type ClientMetadata = z.infer<typeof clientMetadata>;

const document = clientMetadata.extend({ client_id: z.string() });
const registered = client.pick({ name: true, redirect_uris: true });

export class ClientStore extends Store<StoreDependencies & { allowsPrivate: boolean }> {
  readonly #agent = guardedAgent({ allowsPrivate: this.deps.allowsPrivate, timeout_ms: FETCH_TIMEOUT_MS });
  readonly #documents = new LRUCache<string, { found: Client; at_ms: number }>({ max: CACHED_DOCUMENTS });

  /** @throws {AccountError} `bad_input` that says why the id names no client */
  async find(client_id: string): Promise<Client> {
    if (client_id.includes(':')) return this.#fromDocument(client_id);
    const text = client_id.length > MAX_ID_LENGTH ? null : await this.redis.get(redisKeys.client(client_id));
    if (text === null)
      throw refused('it is not registered here, or its registration has expired: let it register anew');
    return { client_id, kind: 'registered', ...registered.parse(JSON.parse(text)) };
  }

  /** @returns its id */
  async register({ client_name, redirect_uris }: ClientMetadata): Promise<string> {
    const client_id = this.newId('cli');
    const name = shownName(client_name) || 'Unnamed client';
    const text = JSON.stringify({ name, redirect_uris });
    await this.redis.set(redisKeys.client(client_id), text, 'PX', UNUSED_TTL_MS);
    return client_id;
  }

  /** Keeps a registration for as long as a connection may last. */
  async noteUse({ kind, client_id }: Client): Promise<void> {
    if (kind === 'registered') await this.redis.pexpire(redisKeys.client(client_id), USED_TTL_MS);
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  async #fromDocument(client_id: string): Promise<Client> {
    const known = this.#documents.get(client_id);
    const age_ms = this.now() - (known?.at_ms ?? 0);
    if (known && age_ms >= 0 && age_ms < DOCUMENT_FRESH_MS) return known.found;
    const url = this.#documentUrl(client_id);
    const said = document.safeParse(await this.#fetch(url));
    if (!said.success) throw refused(`its document cannot be used: ${z.prettifyError(said.error)}`);
    const { client_name, redirect_uris, ...stated } = said.data;
    if (stated.client_id !== client_id) throw refused('its document names another client_id');
    if (stated.token_endpoint_auth_method !== 'none')
      throw refused('its document asks for an authentication of clients, and there is none here');
    const name = shownName(client_name) || url.host;
    const found: Client = { client_id, name, kind: 'document', redirect_uris };
    this.#documents.set(client_id, { found, at_ms: this.now() });
    return found;
  }

  #documentUrl(client_id: string): URL {
    const url = client_id.length <= MAX_ID_LENGTH && URL.canParse(client_id) ? new URL(client_id) : null;
    const isHttps = url?.protocol === 'https:' || (this.deps.allowsPrivate && url?.protocol === 'http:');
    if (!url || !isHttps || url.href !== client_id || url.hash || url.username || url.password)
      throw refused('its id is no plain https address');
    if (url.pathname === '/') throw refused('its id has no path');
    return url;
  }

  async #fetch(url: URL): Promise<unknown> {
    const signal = AbortSignal.timeout(FETCH_TIMEOUT_MS);
    const headers = { accept: 'application/json', 'user-agent': 'Almanac-Connections/1' };
    let status: number;
    let bytes: Buffer;
    try {
      const answer = await request(url, { dispatcher: this.#agent, signal, headers });
      status = answer.statusCode;
      bytes = await readAtMost(answer.body, DOCUMENT_MAX_BYTES + 1);
    } catch {
      throw refused(`${url.host} did not give its document, or is no address of the public internet`);
    }
    if (status !== 200) throw refused(`${url.host} answered with status ${status} instead of its document`);
    if (bytes.length > DOCUMENT_MAX_BYTES)
      throw refused(`its document is larger than ${DOCUMENT_MAX_BYTES} bytes`);
    try {
      return JSON.parse(bytes.toString());
    } catch {
      throw refused('its document is not JSON');
    }
  }
}

/** @throws {AccountError} `bad_input` */
export function expectRedirect({ redirect_uris }: Client, asked: string): void {
  if (!redirect_uris.some((stated) => matchesRedirect(stated, asked)))
    throw refused('it asks for its answer at an address that it has not stated');
}

const refused = (why: string): AccountError => badInput(`This program cannot be connected: ${why}.`);

/** Without characters that do not show or turn the direction of text. */
const shownName = (name: string): string =>
  name
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .trim()
    .slice(0, MAX_NAME_LENGTH);
