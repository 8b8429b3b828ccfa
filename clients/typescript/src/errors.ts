/** What can go wrong. Every error of this package is an `AlmanacError`. */
import type { ValidationDetail } from './records.ts';

/** Base of all errors of this package. */
export class AlmanacError extends Error {
  override name = 'AlmanacError';
}

/** What an answer says about a refusal beside its text. */
export interface RefusalFacts {
  /** Names the call in the service's log. */
  requestId: string | null;
  /** Seconds to wait, where the service says so. */
  retryAfter: number | null;
  /** For 422: the parameters at fault. */
  detail: readonly ValidationDetail[];
}

/** The service refused a call, or failed at it. Nothing was charged for it. */
export class ApiError extends AlmanacError {
  override name = 'ApiError';
  /** HTTP status; 0 for a redirect in a browser, which hides it. */
  readonly status: number;
  /** What the service calls the error, such as `rate_limited`; `invalid_parameters` for 422. */
  readonly code: string;
  /** What the service says, without status, code and request. */
  readonly text: string;
  readonly requestId: string | null;
  readonly retryAfter: number | null;
  readonly detail: readonly ValidationDetail[];

  constructor(status: number, code: string, text: string, facts: RefusalFacts) {
    const request = facts.requestId === null ? '' : ` (request ${facts.requestId})`;
    super(`${text} [${status} ${code}]${request}`);
    this.status = status;
    this.code = code;
    this.text = text;
    this.requestId = facts.requestId;
    this.retryAfter = facts.retryAfter;
    this.detail = facts.detail;
  }
}

/**
 * The service could not be reached, or the answer broke off. The client has repeated the call already, safely. The same
 * call made anew may be charged a second time.
 */
export class ConnectionFailed extends AlmanacError {
  override name = 'ConnectionFailed';
}

/** What answered is not the service: another form of answer than it gives. */
export class UnexpectedAnswer extends AlmanacError {
  override name = 'UnexpectedAnswer';
}

/** An `almanac.lock` cannot be read, or the service no longer serves what it pins. */
export class LockError extends AlmanacError {
  override name = 'LockError';
}

/** Why a receipt, a checkpoint or a key is not accepted, as a sentence. */
export class Refused extends AlmanacError {
  override name = 'Refused';
}

/** This runtime cannot verify: it has no WebCrypto (a page without https), or no Ed25519 in it. */
export class Unsupported extends AlmanacError {
  override name = 'Unsupported';
}
