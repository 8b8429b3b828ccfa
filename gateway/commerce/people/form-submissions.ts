/**
 * Idempotent forms: a form that is sent twice (double click, reload, resend) is carried out once, and the repeat gets
 * the answer of the first.
 *
 * The macro `token` of `parts.njk` gives every form an idempotency token. The first request with a token claims it in
 * Redis, atomically for all gateways; a repeat waits for the answer of the first. No route needs code of its own.
 *
 * - A refused form (4xx) changed nothing and releases its token, so it can be corrected and sent again.
 * - After a fault (5xx, crash) it is unknown what was done. The token stays claimed and a repeat is told so.
 * - The same token with other values is refused.
 * - Answers may contain secrets, such as a new key. They are encrypted with a key derived from the cookie of the browser,
 *   which Redis does not know: only that browser gets them again. Pages are kept for two minutes, redirects for an hour.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { PageError } from '../../web/forms.ts';
import { openText, sealText } from '../store/store.ts';
import type { SessionStore } from './sessions.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The claim of this request; null without a token and for a repeat. */
    formClaim: FormClaim | null;
  }
}

const IDEMPOTENCY_FIELD = '_idempotency';
const CLAIM_TTL_MS = 3_600_000;
export const PAGE_TTL_MS = 120_000;
const POLL_MS = 100;

const TOKEN_BYTES = 16;
const TOKEN = /^[A-Za-z0-9_-]{22}$/;
/** Headers of an answer that a repeat gets too. */
const KEPT_HEADERS = ['content-type', 'location', 'set-cookie'] as const;

export const createFormToken = (): string => randomBytes(TOKEN_BYTES).toString('base64url');

interface Answer {
  status: number;
  headers: Partial<Record<(typeof KEPT_HEADERS)[number], string | string[]>>;
  body: string;
  notice: string | null;
}

interface StoredClaim {
  fingerprint: string;
  state: 'running' | 'done' | 'unknown';
  /** Encrypted. Null: the answer was a page, which is stored under a key of its own. */
  answer: string | null;
}

const ALREADY_SENT = 'This form was already sent';
const REFUSALS = {
  running: `${ALREADY_SENT} and is still being processed. Look at the result in a moment.`,
  unknown: `${ALREADY_SENT}, but its processing was interrupted. Open the page again and check whether it was done before you send a new form.`,
  other: `${ALREADY_SENT} with other values; this time nothing was changed. Open the page again to send a new form.`,
  gone: `${ALREADY_SENT}. Its result was shown once and cannot be shown again.`,
} as const;

/** One form as one browser sends it. Everything stored about it is derived from the browser's secret. */
export class FormClaim {
  readonly name: string;
  readonly fingerprint: string;
  readonly #key: Buffer;
  /** Set when nothing was changed whatever the status: an error known to be harmless, or a preview. */
  isUnchanged = false;

  /** @param secret of the browser @param content URL and fields, by which a repeat is recognised */
  constructor(secret: string, token: string, content: string) {
    const derive = (purpose: string, text: string) =>
      createHmac('sha256', secret).update(`form ${purpose} ${token}\n${text}`).digest();
    this.name = derive('name', '').toString('hex');
    this.fingerprint = derive('fingerprint', content).toString('base64url');
    this.#key = derive('key', '');
  }

  seal(answer: Answer): string {
    return sealText(this.#key, JSON.stringify(answer));
  }

  open(sealed: string): Answer {
    return JSON.parse(openText(this.#key, sealed));
  }
}

export class FormSubmissions {
  readonly #redis: RedisClient;
  readonly #log: Logger;
  readonly #wait_ms: number;

  /** @param options `wait_ms`: how long a repeat waits for the answer of the first */
  constructor(redis: RedisClient, log: Logger, { wait_ms = 15_000 } = {}) {
    this.#redis = redis;
    this.#log = log;
    this.#wait_ms = wait_ms;
  }

  /** Null when the claim succeeded, else the answer of the first request. @throws {PageError} 409 without an answer */
  async claim(claim: FormClaim): Promise<Answer | null> {
    const { fingerprint } = claim;
    const key = redisKeys.form(claim.name);
    const mine = JSON.stringify({ fingerprint, state: 'running', answer: null } satisfies StoredClaim);
    const until_ms = performance.now() + this.#wait_ms;
    for (;;) {
      const text = await this.#redis.set(key, mine, 'PX', CLAIM_TTL_MS, 'NX', 'GET');
      if (text === null) return null;
      const stored: StoredClaim = JSON.parse(text);
      if (stored.fingerprint !== fingerprint) throw new PageError(409, REFUSALS.other);
      if (stored.state === 'unknown') throw new PageError(409, REFUSALS.unknown);
      if (stored.state === 'done') return claim.open(stored.answer ?? (await this.#page(claim)));
      if (performance.now() > until_ms) throw new PageError(409, REFUSALS.running);
      await pause(POLL_MS);
    }
  }

  async #page({ name }: FormClaim): Promise<string> {
    const sealed = await this.#redis.get(redisKeys.formPage(name));
    if (sealed === null) throw new PageError(409, REFUSALS.gone);
    return sealed;
  }

  /** Stores what a repeat gets. A failure is only logged: the form itself was carried out. */
  async settle(claim: FormClaim, answer: Answer): Promise<void> {
    const key = redisKeys.form(claim.name);
    try {
      if (claim.isUnchanged || (answer.status >= 400 && answer.status < 500)) await this.#redis.del(key);
      else if (answer.status >= 500) await this.#finish(claim, 'unknown', null);
      else if (answer.body === '') await this.#finish(claim, 'done', claim.seal(answer));
      else {
        await this.#redis.set(redisKeys.formPage(claim.name), claim.seal(answer), 'PX', PAGE_TTL_MS);
        await this.#finish(claim, 'done', null);
      }
    } catch (error) {
      this.#log.warn({ err: error }, 'the answer to a form is not stored for repeats');
    }
  }

  async #finish({ name, fingerprint }: FormClaim, state: StoredClaim['state'], answer: string | null) {
    const stored: StoredClaim = { fingerprint, state, answer };
    await this.#redis.set(redisKeys.form(name), JSON.stringify(stored), 'PX', CLAIM_TTL_MS);
  }
}

interface FormSubmissionArea {
  submissions: FormSubmissions;
  sessions: SessionStore;
}

/** Makes every form of the area idempotent. Call it after the hooks that authenticate and check the CSRF token. */
export function installFormSubmissions(scope: FastifyInstance, area: FormSubmissionArea): void {
  scope.decorateRequest('formClaim', null);

  scope.addHook('preHandler', async (request, reply) => {
    const claim = request.method === 'POST' ? readClaim(request) : null;
    if (claim === null) return undefined;
    const answer = await area.submissions.claim(claim);
    if (answer === null) {
      request.formClaim = claim;
      return undefined;
    }
    return repeatAnswer(area, reply, answer);
  });

  scope.addHook('onSend', async (request, reply, payload) => {
    const { formClaim, webSession } = request;
    if (formClaim === null) return;
    request.formClaim = null;
    const body = typeof payload === 'string' ? payload : '';
    // A page shows its notice itself; a redirect leaves it to the next page.
    const notice = body === '' ? (webSession?.notice ?? null) : null;
    await area.submissions.settle(formClaim, { ...keptParts(reply), notice, body });
  });
}

function readClaim({ body, url, webSession, session }: FastifyRequest): FormClaim | null {
  if (typeof body !== 'object' || body === null) return null;
  const { [IDEMPOTENCY_FIELD]: token, _csrf, ...fields } = body as Record<string, unknown>;
  const secret = webSession?.id ?? session._csrf;
  // Signing in and out have no token.
  if (token === undefined || secret === undefined) return null;
  if (typeof token !== 'string' || !TOKEN.test(token))
    throw new PageError(422, 'This form is incomplete. Reload the page and send it again.');
  const content = JSON.stringify([url, Object.entries(fields).toSorted(([a], [b]) => (a < b ? -1 : 1))]);
  return new FormClaim(secret, token, content);
}

function keptParts(reply: FastifyReply): Pick<Answer, 'status' | 'headers'> {
  const headers: Answer['headers'] = {};
  for (const name of KEPT_HEADERS) {
    const value = reply.getHeader(name);
    if (typeof value === 'string' || Array.isArray(value)) headers[name] = value;
  }
  return { status: reply.statusCode, headers };
}

async function repeatAnswer(
  { sessions }: FormSubmissionArea,
  reply: FastifyReply,
  { status, headers, body, notice }: Answer,
): Promise<FastifyReply> {
  const { webSession } = reply.request;
  if (webSession && notice !== null) await sessions.setNotice(webSession, notice);
  return reply.code(status).headers(headers).send(body);
}
