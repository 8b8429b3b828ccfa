/**
 * Connections of accounts: allowed by a person, redeemed and refreshed by their client, listed, and ended.
 *
 * A client holds a code, or a refresh token. Both name the connection; Redis has digests of the rest.
 *
 *   code           <connection id>.<secret>
 *   refresh token  <connection id>.<family>.<secret>
 *
 * All refresh tokens of a connection have one family, which only those who were given one know. So a token that was used long
 * ago is told from one that never existed, although Redis keeps the last two only.
 */
import { hash } from 'node:crypto';
import { readScript } from '../../../data/runtime/redis-scripts.ts';
import { DAY_MS, HOUR_MS, redisKeys } from '../../../data/schema/redis-keys.ts';
import {
  KeyResolver,
  mintKeyText,
  type RandomBytes,
  randomId,
  type StoredKey,
} from '../../api/metering/metering.ts';
import { creditsOfMonth, PERMISSIONS, ROLES } from '../accounts/accounts.ts';
import { AuditLog, accountSubject } from '../history/history.ts';
import {
  AccountError,
  badInput,
  numberOr,
  openText,
  type ReadField,
  recordsIn,
  Store,
  sealText,
  throwUnknownAccount,
  validateCredits,
} from '../store/store.ts';

const CREATE = readScript(import.meta.url, 'lua/create-connection.lua', 3);
const REDEEM = readScript(import.meta.url, 'lua/redeem-code.lua', 3);
const REFRESH = readScript(import.meta.url, 'lua/refresh-connection.lua', 3);
const END = readScript(import.meta.url, 'lua/end-connection.lua', 2);

/** The only scope: that of every key. */
export const SCOPE = 'read';
export const CODE_TTL_MS = 60_000;
const ACCESS_TOKEN_TTL_MS = HOUR_MS;
/** How long a refresh whose answer may have been lost can be repeated. */
export const REPEAT_MS = 30_000;
export const CONNECTION_MAX_MS = 366 * DAY_MS;
/** That work at a time, of one account. */
const MAX_CONNECTIONS = 50;
const MAX_ENDED = 50;
const SECRET_BYTES = 32;
const ID_LENGTH = 12;
const CODE = /^(con_[0-9a-hjkmnp-tv-z]{12})\.[A-Za-z0-9_-]{43}$/;
const REFRESH_TOKEN = /^(con_[0-9a-hjkmnp-tv-z]{12})\.([A-Za-z0-9_-]{43})\.[A-Za-z0-9_-]{43}$/;

/** Who may allow a connection: whoever may make keys. */
const ALLOWING_ROLES = ROLES.filter((role) => PERMISSIONS[role].includes('keys'));

/** `left`: who allowed it left the account, or may no longer make keys. */
type EndedBecause =
  | 'person'
  | 'operator'
  | 'client'
  | 'left'
  | 'account_closed'
  | 'code_replayed'
  | 'refresh_reused';

/** What a person allows. */
export interface NewConnection {
  account_id: string;
  person_id: string;
  monthly_limit: number;
  expires_at_ms: number;
  client_id: string;
  client_name: string;
  host: string;
  redirect_uri: string;
  /** S256. */
  challenge: string;
}

interface Redemption {
  code: string;
  client_id: string;
  /** Empty where none was sent. */
  redirect_uri: string;
  verifier: string;
}

export class ConnectionStore extends Store {
  readonly #tokens = new KeyResolver(this.deps.redis, this.now);
  readonly #audit = new AuditLog(this.deps.redis, this.now);

  /** @returns its id, and the code for its client. @throws {AccountError} `bad_input`, `member_refused`, `account_state`, `too_many_keys` */
  async create({
    account_id,
    person_id,
    ...given
  }: NewConnection): Promise<{ connection_id: string; code: string }> {
    const { monthly_limit, expires_at_ms, ...facts } = given;
    const now_ms = this.now();
    const limit = validateCredits(monthly_limit, 1);
    if (!(expires_at_ms > now_ms && expires_at_ms <= now_ms + CONNECTION_MAX_MS))
      throw badInput('A connection must end in the future, within a year.');
    const connection_id = `con_${randomId(ID_LENGTH, this.random)}`;
    const code = `${connection_id}.${newSecret(this.random)}`;
    const known_ms = expires_at_ms - now_ms + DAY_MS;
    await this.redis.set(redisKeys.connection(connection_id), account_id, 'PX', known_ms);
    const code_until_ms = now_ms + CODE_TTL_MS;
    const fields = { ...facts, limit, expires_at_ms, code: digestOf(code), code_until_ms };
    const names = [redisKeys.account, redisKeys.connections, redisKeys.members];
    const [result] = await this.run(CREATE, [
      ...names.map((name) => name(account_id)),
      ...[now_ms, connection_id, person_id, ALLOWING_ROLES.join(' '), MAX_CONNECTIONS, MAX_ENDED],
      ...Object.entries(fields).flat(),
    ]);
    if (result !== 'created') throwCreateError(result, account_id);
    return { connection_id, code };
  }

  /** Null for a code that is not valid. */
  async redeem({ code, client_id, redirect_uri, verifier }: Redemption): Promise<TokenAnswer | null> {
    const connection_id = CODE.exec(code)?.[1] ?? '';
    const account_id = await this.#accountOf(connection_id);
    if (account_id === null) return null;
    const family = newSecret(this.random);
    const refresh = refreshToken(connection_id, family, newSecret(this.random));
    const made = await this.#mintAccess(account_id, connection_id);
    if (made === null) return null;
    const [result] = await this.run(REDEEM, [
      ...(await this.#namesOf(account_id)),
      ...[this.now(), connection_id, digestOf(code), client_id, redirect_uri, challengeOf(verifier)],
      ...[digestOf(family), digestOf(refresh)],
    ]);
    if (result === 'redeemed') return answerOf(made, refresh);
    await this.redis.del(made.name);
    if (result === 'replayed') await this.#auditEnd(account_id, connection_id, 'code_replayed');
    return null;
  }

  /** Null for a token that is not valid. */
  async refresh(token: string, client_id: string): Promise<TokenAnswer | null> {
    const parsed = parseRefreshToken(token);
    const { connection_id = '', family = '' } = parsed ?? {};
    const account_id = await this.#accountOf(connection_id);
    if (account_id === null) return null;
    const made = await this.#mintAccess(account_id, connection_id);
    if (made === null) return null;
    const next = refreshToken(connection_id, family, newSecret(this.random));
    const given = answerOf(made, next);
    const [result, repeated] = await this.run(REFRESH, [
      ...(await this.#namesOf(account_id)),
      ...[this.now(), connection_id, client_id, digestOf(family), digestOf(token), digestOf(next)],
      ...[sealText(sealingKey(token), JSON.stringify(given)), REPEAT_MS],
    ]);
    if (result === 'refreshed') return given;
    // It may be what was just made: the script runs again when its reply is lost.
    if (result === 'repeated') return JSON.parse(openText(sealingKey(token), String(repeated)));
    await this.redis.del(made.name);
    if (result === 'reused') await this.#auditEnd(account_id, connection_id, 'refresh_reused');
    return null;
  }

  /** Ends the connection of a token of either kind, for its client; nothing for any other text. */
  async revoke(token: string, client_id: string): Promise<void> {
    const access = await this.#tokens.resolve(`Bearer ${token}`);
    const refresh = parseRefreshToken(token);
    const connection_id = access?.key_id ?? refresh?.connection_id ?? '';
    const account_id = await this.#accountOf(connection_id);
    if (account_id === null) return;
    const [family, owner] = await this.redis.hmget(
      redisKeys.connections(account_id),
      `${connection_id}:family`,
      `${connection_id}:client_id`,
    );
    const isGenuine = access !== null || (refresh !== null && digestOf(refresh.family) === family);
    if (!isGenuine || owner !== client_id) return;
    await this.end(account_id, connection_id, { because: 'client' });
    await this.#auditEnd(account_id, connection_id, 'client');
  }

  /** Of an end that no person asked for. */
  async #auditEnd(account_id: string, connection_id: string, because: EndedBecause): Promise<void> {
    const entry = { by: 'system', action: 'connection.end', subject: accountSubject(account_id) };
    const after = { connection_id, ended_because: because };
    await this.#audit.record({ ...entry, after }, `${entry.action} ${connection_id}`);
  }

  /** Its tokens are refused from the next call on. @throws {AccountError} `connection_unknown` */
  async end(
    account_id: string,
    connection_id: string,
    {
      by = '',
      reason = '',
      because = 'person',
    }: { by?: string; reason?: string; because?: EndedBecause } = {},
  ): Promise<void> {
    await this.expectEvents(account_id);
    const names = [redisKeys.connections(account_id), redisKeys.accountOutbox(account_id)];
    const [result] = await this.run(END, [...names, this.now(), connection_id, by, because, reason]);
    if (result === 'unknown')
      throw new AccountError('connection_unknown', `There is no connection ${connection_id}.`);
  }

  /** Newest first. */
  async list(account_id: string): Promise<ConnectionRecord[]> {
    const stored = await this.redis.hgetall(redisKeys.connections(account_id));
    const read = (id: string, field: ReadField) => connectionFrom(account_id, id, field, this.now());
    return recordsIn(stored, 'state', read).sort((a, b) => b.created_at_ms - a.created_at_ms);
  }

  async #accountOf(connection_id: string): Promise<string | null> {
    return connection_id === '' ? null : this.redis.get(redisKeys.connection(connection_id));
  }

  async #namesOf(account_id: string): Promise<string[]> {
    await this.expectEvents(account_id);
    const names = [redisKeys.account, redisKeys.connections, redisKeys.accountOutbox];
    return names.map((name) => name(account_id));
  }

  /** Stored before the script that gives it away, so that it works as soon as it is given. Null once the connection is over. */
  async #mintAccess(account_id: string, connection_id: string) {
    const field = `${connection_id}:expires_at_ms`;
    const end_ms = numberOr((await this.redis.hget(redisKeys.connections(account_id), field)) ?? '', 0);
    const ttl_ms = Math.min(ACCESS_TOKEN_TTL_MS, end_ms - this.now());
    if (ttl_ms < 1_000) return null;
    const { key, key_id, digest, environment } = mintKeyText('mcp', this.random);
    const facts: StoredKey = {
      account_id,
      digest: digest.toString('hex'),
      environment,
      scopes: [SCOPE],
      connection_id,
      expires_at_ms: this.now() + ttl_ms,
    };
    const name = redisKeys.key(key_id);
    await this.redis.set(name, JSON.stringify(facts), 'PX', ttl_ms);
    return { access_token: key, name, expires_in: Math.floor(ttl_ms / 1_000) };
  }
}

const digestOf = (text: string): string => hash('sha256', text, 'hex');

export const newSecret = (random: RandomBytes): string => random(SECRET_BYTES).toString('base64url');

/** Null if the text is no refresh token. */
function parseRefreshToken(token: string): { connection_id: string; family: string } | null {
  const [, connection_id, family] = REFRESH_TOKEN.exec(token) ?? [];
  return connection_id === undefined || family === undefined ? null : { connection_id, family };
}

const refreshToken = (connection_id: string, family: string, secret: string): string =>
  `${connection_id}.${family}.${secret}`;

/** The answer of the token endpoint. */
const answerOf = (
  { access_token, expires_in }: { access_token: string; expires_in: number },
  refresh_token: string,
) => ({ access_token, token_type: 'Bearer', expires_in, refresh_token, scope: SCOPE });
type TokenAnswer = ReturnType<typeof answerOf>;

/** S256 of RFC 7636. */
const challengeOf = (verifier: string): string => hash('sha256', verifier, 'base64url');

/** Only who has the refresh token can read the answer to it. */
const sealingKey = (token: string): Buffer => hash('sha256', `answer to ${token}`, 'buffer');

function throwCreateError(result: unknown, account_id: string): never {
  if (result === 'inactive') throw new AccountError('account_state', 'The account is suspended or closed.');
  if (result === 'not_allowed')
    throw new AccountError('member_refused', 'Developers and the owner of the account may connect hosts.');
  if (result !== 'full') throwUnknownAccount(account_id);
  const limit = `An account can have at most ${MAX_CONNECTIONS} connections`;
  throw new AccountError('too_many_keys', `${limit}; end one first.`);
}

export type ConnectionRecord = ReturnType<typeof connectionFrom>;

function connectionFrom(account_id: string, connection_id: string, field: ReadField, now_ms: number) {
  const text = (name: string): string => field(name) ?? '';
  const expires_at_ms = numberOr(text('expires_at_ms'), 0);
  const code_until_ms = numberOr(text('code_until_ms'), expires_at_ms);
  const isOver = text('state') !== 'ended' && Math.min(expires_at_ms, code_until_ms) <= now_ms;
  return {
    connection_id,
    account_id,
    scope: SCOPE,
    expires_at_ms,
    /** Who allowed it; empty once erased. */
    person_id: text('by'),
    client_id: text('client_id'),
    client_name: text('client_name'),
    /** Of the client's document, else where the code went. */
    host: text('host'),
    /** Credits that it may spend in a UTC calendar month. */
    monthly_limit: numberOr(text('limit'), 0),
    month_credits: creditsOfMonth(text('month'), now_ms),
    created_at_ms: numberOr(text('created_at_ms'), 0),
    /** Precise to one second. */
    last_used_at_ms: numberOr(text('last_used_ms'), null),
    /** `pending`: allowed, and not yet taken up by its client. */
    state: (isOver ? 'expired' : text('state')) as 'pending' | 'active' | 'ended' | 'expired',
    ended_at_ms: numberOr(text('ended_at_ms'), null),
    ended_because: (text('ended_because') || null) as EndedBecause | null,
  };
}
