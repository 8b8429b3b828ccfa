/** Where answers to a client may go, as clients state it and as they ask for it. */

const MAX_LENGTH = 2_000;
/** Visible ASCII: what browsers drop or read otherwise cannot hide in it. */
const PLAIN = /^[\x21-\x5b\x5d-\x7e]+$/;
/** Schemes of programs, such as `cursor:`, are fine; these belong to browsers, and could run as or read what is there. */
const OF_BROWSERS =
  /^(?:about|blob|data|file|filesystem|ftp|intent|javascript|jar|mailto|tel|vbscript|view-source|wss?):$/;
const WITH_PATH = /^[^/]+:\//;
const LOOPBACK = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d{1,5})?(?=[/?]|$)/;

/** Why a client cannot have a redirect; null if it can. */
export function redirectProblem(uri: string): string | null {
  const url = uri.length <= MAX_LENGTH && PLAIN.test(uri) && URL.canParse(uri) ? new URL(uri) : null;
  if (url === null) return `is no absolute URL of at most ${MAX_LENGTH} plain characters`;
  if (uri.includes('#')) return 'has a fragment';
  if (url.username !== '' || url.password !== '') return 'has a user or a password';
  if (url.protocol === 'http:' && !LOOPBACK.test(uri)) return 'has http for a host that is not this computer';
  if (OF_BROWSERS.test(url.protocol) || !WITH_PATH.test(uri)) return `has the scheme ${url.protocol}`;
  return null;
}

/** Exactly as stated, but for the port of a loopback address: a program takes one that is free. */
export const matchesRedirect = (stated: string, asked: string): boolean =>
  redirectProblem(asked) === null && withoutPort(stated) === withoutPort(asked);

const withoutPort = (uri: string): string => uri.replace(LOOPBACK, '$1');

/** Whom an answer reaches: a host, or the program of a scheme. */
export function redirectHost(uri: string): string {
  const { protocol, host } = new URL(uri);
  return protocol === 'https:' || protocol === 'http:' ? host : protocol;
}

/** The redirect with parameters; what it has already stays as it is. */
export function withParameters(uri: string, parameters: Record<string, string | null>): string {
  const sent = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== null);
  return `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams(sent)}`;
}
