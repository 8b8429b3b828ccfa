/** Endpoints of webhooks: where an account wants to be told of events, of which, and the secret that signs them. */

import { isPrivateHost } from '../../../../data/runtime/public-addresses.ts';
import { readScript } from '../../../../data/runtime/redis-scripts.ts';
import { DAY_MS, redisKeys } from '../../../../data/schema/redis-keys.ts';
import { randomId } from '../../../api/metering/metering.ts';
import {
  AccountError,
  badInput,
  type Hash,
  Store,
  type StoreDependencies,
  throwUnknownAccount,
} from '../../store/store.ts';
import { SUBSCRIBABLE } from '../catalogue.ts';
import { endpointsFrom, MAX_ENDPOINTS, secretsFrom, type WebhookEndpoint } from './endpoint-records.ts';
import { isWebhookPort, PORTS_EXPECTED } from './sender.ts';
import { newSecret } from './signature.ts';

const CREATE = readScript(import.meta.url, 'create-endpoint.lua', 2);
const ROTATE = readScript(import.meta.url, 'rotate-secret.lua', 1);
const REMOVE = readScript(import.meta.url, 'remove-endpoint.lua', 3);

const ID_LENGTH = 12;
const MAX_URL_LENGTH = 2_000;
/** How long the former secret signs too. */
export const OLD_SECRET_MS = DAY_MS;

export interface EndpointInput {
  url: string;
  types: readonly string[];
}

/** The secrets are in no other record. */
export interface SigningEndpoint extends WebhookEndpoint {
  /** Those that sign now, the current one first. */
  secrets: readonly string[];
}

export interface EndpointStoreDependencies extends StoreDependencies {
  /** Whether endpoints may be at private addresses, and use http. */
  allowsPrivate: boolean;
}

export class EndpointStore extends Store<EndpointStoreDependencies> {
  /** @returns its id, and the secret, which is shown only once. @throws {AccountError} `bad_input`, `account_state`, `too_many_endpoints` */
  async create(
    account_id: string,
    input: EndpointInput & { by: string },
  ): Promise<{ endpoint_id: string; secret: string }> {
    const { random } = this;
    const { url, types } = this.#validate(input);
    const endpoint_id = `whk_${randomId(ID_LENGTH, random)}`;
    const secret = newSecret(random);
    const names = [redisKeys.account(account_id), redisKeys.webhooks(account_id)];
    const values = [endpoint_id, MAX_ENDPOINTS, url, types, secret, this.now(), input.by];
    const [result, state] = await this.run(CREATE, [...names, ...values]);
    if (result === 'unknown') throwUnknownAccount(account_id);
    if (result === 'inactive') throw new AccountError('account_state', `The account is ${String(state)}.`);
    if (result === 'full') {
      const limit = `An account can have at most ${MAX_ENDPOINTS} webhooks`;
      throw new AccountError('too_many_endpoints', `${limit}; remove one first.`);
    }
    return { endpoint_id, secret };
  }

  /** Enables it again if it was disabled. @throws {AccountError} `bad_input`, `endpoint_unknown` */
  async change(account_id: string, endpoint_id: string, input: EndpointInput): Promise<void> {
    const { url, types } = this.#validate(input);
    const field = (name: string): string => `${endpoint_id}:${name}`;
    const isKnown = await this.changeRecord(
      redisKeys.webhooks(account_id),
      [field('url'), ''],
      { [field('url')]: url, [field('types')]: types },
      ['disabled_because', 'disabled_at_ms', 'failing_since_ms'].map(field),
    );
    if (!isKnown) throw unknownEndpoint(endpoint_id);
  }

  /** @returns the new secret. @throws {AccountError} `endpoint_unknown` */
  async rotate(account_id: string, endpoint_id: string): Promise<string> {
    const secret = newSecret(this.random);
    const values = [endpoint_id, secret, this.now() + OLD_SECRET_MS];
    const [result] = await this.run(ROTATE, [redisKeys.webhooks(account_id), ...values]);
    if (result !== 'rotated') throw unknownEndpoint(endpoint_id);
    return secret;
  }

  /** With its deliveries. @throws {AccountError} `endpoint_unknown` */
  async remove(account_id: string, endpoint_id: string): Promise<void> {
    const { webhooks, webhookDeliveries, webhookLog } = redisKeys;
    const names = [webhooks(account_id), webhookDeliveries(account_id), webhookLog(account_id)];
    const [result] = await this.run(REMOVE, [...names, endpoint_id]);
    if (result !== 'removed') throw unknownEndpoint(endpoint_id);
  }

  /** Oldest first. */
  async list(account_id: string): Promise<WebhookEndpoint[]> {
    return endpointsFrom(await this.read(account_id));
  }

  /** @throws {AccountError} `endpoint_unknown` */
  async get(account_id: string, endpoint_id: string): Promise<SigningEndpoint> {
    const hash = await this.read(account_id);
    const found = endpointsFrom(hash).find((endpoint) => endpoint.endpoint_id === endpoint_id);
    if (!found) throw unknownEndpoint(endpoint_id);
    return { ...found, secrets: secretsFrom(endpoint_id, hash, this.now()) };
  }

  /** The stored hash; see endpoint-records.ts. */
  read(account_id: string): Promise<Hash> {
    return this.redis.hgetall(redisKeys.webhooks(account_id));
  }

  #validate({ url: text, types }: EndpointInput): { url: string; types: string } {
    const unknown = types.find((type) => !SUBSCRIBABLE.some((known) => known === type));
    if (unknown !== undefined)
      throw badInput(`There is no event type "${unknown}"; there are ${SUBSCRIBABLE.join(', ')}.`);
    if (types.length === 0) throw badInput('Choose at least one event type.');
    const url = this.#validateUrl(text.trim());
    return { url, types: SUBSCRIBABLE.filter((type) => types.includes(type)).join(' ') };
  }

  #validateUrl(text: string): string {
    const { allowsPrivate } = this.deps;
    const url = URL.parse(text);
    const isHttp = url?.protocol === 'https:' || (allowsPrivate && url?.protocol === 'http:');
    if (!url || !isHttp || text.length > MAX_URL_LENGTH)
      throw badInput(`The URL is an https:// address of at most ${MAX_URL_LENGTH} characters.`);
    if (url.username !== '' || url.password !== '' || url.hash !== '')
      throw badInput('The URL contains neither user nor password nor a fragment (#).');
    if (!allowsPrivate && isPrivateHost(url.hostname))
      throw badInput(`The URL names ${url.hostname}, which is no address of the public internet.`);
    if (!isWebhookPort(url.port))
      throw badInput(`The URL has port ${url.port}; it may be ${PORTS_EXPECTED}.`);
    return url.href;
  }
}

const unknownEndpoint = (endpoint_id: string): AccountError =>
  new AccountError('endpoint_unknown', `There is no webhook ${endpoint_id}.`);
