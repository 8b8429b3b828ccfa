/**
 * Sign-ins whose first step succeeded and that wait for the code of the second factor. They are no sessions: what they
 * open is the page that asks for the code. The browser holds a random id, Redis only its digest.
 */
import { createHash } from 'node:crypto';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import type { StoreDependencies } from '../store/store.ts';
import type { Realm } from './sessions.ts';

export const PENDING_SIGN_IN_TTL_MS = 10 * 60_000;
const ID_BYTES = 32;

export interface PendingSignIn {
  subject: string;
  epoch: string;
  email: string;
  /** Where to go after signing in. */
  next: string;
  /** Id of the known browser; null if it was not known. */
  browser: string | null;
}

export class PendingSignIns {
  readonly #deps: StoreDependencies;
  readonly #realm: Realm;

  constructor(dependencies: StoreDependencies, realm: Realm) {
    this.#deps = dependencies;
    this.#realm = realm;
  }

  /** Returns the id for the browser. */
  async begin(pending: PendingSignIn): Promise<string> {
    const id = this.#deps.random(ID_BYTES).toString('base64url');
    await this.#deps.redis.set(this.#key(id), JSON.stringify(pending), 'PX', PENDING_SIGN_IN_TTL_MS);
    return id;
  }

  /** Null if there is none, or it took too long. */
  async find(id: string | undefined): Promise<PendingSignIn | null> {
    const text = id === undefined ? null : await this.#deps.redis.get(this.#key(id));
    return text === null ? null : JSON.parse(text);
  }

  async end(id: string): Promise<void> {
    await this.#deps.redis.del(this.#key(id));
  }

  #key(id: string): string {
    return redisKeys.pendingSignIn(this.#realm, createHash('sha256').update(id).digest('hex'));
  }
}
