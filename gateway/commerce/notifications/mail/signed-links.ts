/**
 * Signed links for mails: each is valid for one purpose, once, and for a limited time.
 *
 * A token is `<id>.<expiry>.<signature>`. The signature (HMAC-SHA256 of purpose, id and expiry) rejects forged and
 * expired tokens without a look-up. Redis stores the payload under the digest of the id, encrypted with a key derived from
 * the id: reading Redis yields no valid link and no address, whoever was erased since. The first use deletes it.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { redisKeys } from '../../../../data/schema/redis-keys.ts';
import { openText, type StoreDependencies, sealText, sharedSecret } from '../../store/store.ts';

const ID_BYTES = 24;
const TOKEN = /^([A-Za-z0-9_-]{32})\.([0-9a-z]{1,12})\.([A-Za-z0-9_-]{43})$/;

const PAYLOADS = {
  'sign-up': z.object({ email: z.string(), name: z.string() }),
  reset: z.object({ person_id: z.string(), epoch: z.string() }),
  'sign-in': z.object({ person_id: z.string(), epoch: z.string() }),
  'email-change': z.object({ person_id: z.string(), from: z.string(), to: z.string() }),
  'email-undo': z.object({ person_id: z.string(), from: z.string(), to: z.string() }),
  invitation: z.object({ account_id: z.string(), invitation_id: z.string() }),
  'operator-password': z.object({ email: z.string(), epoch: z.string() }),
} as const;

export type LinkPurpose = keyof typeof PAYLOADS;
export type LinkPayload<P extends LinkPurpose> = z.infer<(typeof PAYLOADS)[P]>;

export class SignedLinks {
  readonly #deps: StoreDependencies;

  constructor(dependencies: StoreDependencies) {
    this.#deps = dependencies;
  }

  /** Creates a token. */
  async create<P extends LinkPurpose>(purpose: P, payload: LinkPayload<P>, ttl_ms: number): Promise<string> {
    const { redis, now, random } = this.#deps;
    const id = random(ID_BYTES).toString('base64url');
    const expiry = (now() + ttl_ms).toString(36);
    const signature = await this.#sign(purpose, id, expiry);
    const sealed = sealText(deriveSealingKey(id), JSON.stringify(payload));
    await redis.set(linkKey(id), JSON.stringify({ purpose, sealed }), 'PX', ttl_ms);
    return `${id}.${expiry}.${signature.toString('base64url')}`;
  }

  /** The payload of a token, without using it up; null if the token is invalid. */
  async peek<P extends LinkPurpose>(purpose: P, token: string): Promise<LinkPayload<P> | null> {
    const id = await this.#verify(purpose, token);
    return id === null ? null : parsePayload(purpose, id, await this.#deps.redis.get(linkKey(id)));
  }

  /** Consumes a token. Only one of several concurrent uses gets the payload. */
  async redeem<P extends LinkPurpose>(purpose: P, token: string): Promise<LinkPayload<P> | null> {
    const id = await this.#verify(purpose, token);
    return id === null ? null : parsePayload(purpose, id, await this.#deps.redis.getdel(linkKey(id)));
  }

  async #verify(purpose: LinkPurpose, token: string): Promise<string | null> {
    const [, id, expiry, signature] = TOKEN.exec(token) ?? [];
    if (id === undefined || expiry === undefined || signature === undefined) return null;
    const given = Buffer.from(signature, 'base64url');
    if (!timingSafeEqual(given, await this.#sign(purpose, id, expiry))) return null;
    return Number.parseInt(expiry, 36) > this.#deps.now() ? id : null;
  }

  async #sign(purpose: LinkPurpose, id: string, expiry: string): Promise<Buffer> {
    const secret = await sharedSecret(this.#deps, redisKeys.linkSecret);
    return createHmac('sha256', secret).update(`${purpose}.${id}.${expiry}`).digest();
  }
}

const linkKey = (id: string): string => redisKeys.link(createHash('sha256').update(id).digest('hex'));

const deriveSealingKey = (id: string): Buffer => createHash('sha256').update(`link payload ${id}`).digest();

function parsePayload<P extends LinkPurpose>(
  purpose: P,
  id: string,
  text: string | null,
): LinkPayload<P> | null {
  if (text === null) return null;
  const stored: { purpose: string; sealed: string } = JSON.parse(text);
  if (stored.purpose !== purpose) return null;
  const facts: unknown = JSON.parse(openText(deriveSealingKey(id), stored.sealed));
  return PAYLOADS[purpose].parse(facts) as LinkPayload<P>;
}
