/**
 * The catalogue of public errors: code, HTTP status, default message. Internal detail goes to the log only.
 * A test holds this list against the documentation and OpenAPI, both ways.
 */
export const ERRORS = {
  bad_sort: { status: 400, message: 'sort must be one of name, coverage, latest, topic, source.' },
  bad_dir: { status: 400, message: 'dir must be one of asc, desc.' },
  not_rankable: { status: 400, message: 'This indicator is not ranked.' },
  bad_request: { status: 400, message: 'The request could not be read as HTTP.' },
  unauthorized: { status: 401, message: 'Authentication is required: send Authorization: Bearer <API key>.' },
  invalid_key: { status: 401, message: 'The API key is not valid.' },
  insufficient_credits: {
    status: 402,
    message: "The balance, or the rest of the key's monthly limit, is below the price.",
  },
  max_credits_exceeded: { status: 402, message: 'The answer costs more than max_credits allows.' },
  key_restricted: { status: 403, message: 'The key may not be used from here.' },
  key_scope: { status: 403, message: 'The key lacks the scope that this route needs.' },
  export_restricted: {
    status: 403,
    message: "The provider's licence lets this indicator be shown but not exported.",
  },
  not_found: { status: 404, message: 'There is nothing at this path.' },
  country_not_found: { status: 404, message: 'No country has this code.' },
  edition_not_found: { status: 404, message: 'There is no snapshot of that time or with that id.' },
  file_not_found: { status: 404, message: 'There is no such file.' },
  figure_not_found: { status: 404, message: 'There is no row of this country and year.' },
  not_in_edition: { status: 404, message: 'The snapshot does not hold what this needs.' },
  log_size_not_found: { status: 404, message: 'The log has no such size.' },
  indicator_not_found: { status: 404, message: 'No indicator has this id.' },
  method_not_allowed: { status: 405, message: 'Only GET is allowed here.' },
  range_not_satisfiable: { status: 416, message: 'There is no such part.' },
  expectation_failed: { status: 417, message: 'The only expectation that can be met is 100-continue.' },
  header_too_large: { status: 431, message: 'The request line and headers are too large.' },
  rate_limited: { status: 429, message: 'The rate limit is used up; retry after the time given.' },
  internal_error: { status: 500, message: 'Something failed on our side; nothing was charged.' },
  unavailable: { status: 503, message: 'The service is briefly unavailable; nothing was charged.' },
} as const satisfies Record<string, { status: number; message: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** A refusal or a fault, as callers see it. */
export interface ApiError {
  code: ErrorCode;
  /** Replaces the default message where something more specific is known. */
  message?: string;
  retryAfter_s?: number;
  /** Methods that are allowed, where they are not GET alone. */
  allowed?: string;
  /** Size of the file of which no such part exists. */
  bytes?: number;
}

/** Longest input that an error message repeats. */
const ECHO_MAX = 300;

/** Truncates caller input for an error message, so that no error is longer than its request. */
export const truncateInput = (text: string): string =>
  text.length > ECHO_MAX ? `${text.slice(0, ECHO_MAX)}…` : text;

/** A bounded queue is full: a transient fault, reported as `unavailable`. */
export class QueueFull extends Error {
  override name = 'QueueFull';
}
