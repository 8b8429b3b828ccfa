/**
 * Browsers in which somebody has signed in before, after the device cookies of OWASP.
 *
 * A browser gets a signed cookie per account. Its attempts to sign in to that account have a throttle counter of their
 * own, so that a stranger who guesses at the account cannot lock its owner out. The cookie is no credential: a sign-in
 * needs the password all the same. It ends when the account's epoch is raised, as a change of the password does;
 * otherwise somebody who knew the old password could collect cookies for further guesses.
 *
 * A cookie is `<id>.<issued>.<signature>`. Redis stores only the signing key.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { addressDigest, DAY_MS, redisKeys } from '../../../data/schema/redis-keys.ts';
import { type StoreDependencies, sharedSecret } from '../store/store.ts';
import type { Realm } from './sessions.ts';

export const KNOWN_FOR_MS = 180 * DAY_MS;
const ID_BYTES = 16;
const COOKIE = /^([A-Za-z0-9_-]{22})\.([0-9a-z]{1,12})\.([A-Za-z0-9_-]{43})$/;

export class KnownBrowsers {
  readonly #deps: StoreDependencies;
  readonly #realm: Realm;

  constructor(dependencies: StoreDependencies, realm: Realm) {
    this.#deps = dependencies;
    this.#realm = realm;
  }

  /** The value of the cookie. @param id of a browser that is known already */
  async issue(email: string, epoch: string, id: string | null = null): Promise<string> {
    const { now, random } = this.#deps;
    const name = id ?? random(ID_BYTES).toString('base64url');
    const issued = now().toString(36);
    return `${name}.${issued}.${(await this.#sign(email, epoch, name, issued)).toString('base64url')}`;
  }

  /** The id of a browser that is known for the account; null for every other cookie. */
  async recognise(email: string, epoch: string, cookie: string | undefined): Promise<string | null> {
    const [, id, issued, signature] = COOKIE.exec(cookie ?? '') ?? [];
    if (id === undefined || issued === undefined || signature === undefined) return null;
    const given = Buffer.from(signature, 'base64url');
    if (!timingSafeEqual(given, await this.#sign(email, epoch, id, issued))) return null;
    return this.#deps.now() - Number.parseInt(issued, 36) < KNOWN_FOR_MS ? id : null;
  }

  async #sign(email: string, epoch: string, id: string, issued: string): Promise<Buffer> {
    const secret = await sharedSecret(this.#deps, redisKeys.browserSecret);
    const facts = [this.#realm, addressDigest(email), epoch, id, issued].join('.');
    return createHmac('sha256', secret).update(facts).digest();
  }
}
