/** The id of a request: the caller's own when it is safe to repeat, otherwise a new one. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const SAFE_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** @param randomId gives an id that was never given before, within the safe alphabet. */
export function requestIds(randomId: () => string): (request: IncomingMessage) => string {
  return (request) => {
    const sent = request.headers['x-request-id'];
    return typeof sent === 'string' && SAFE_ID.test(sent) ? sent : randomId();
  };
}

/** All texts of two digits: to add one is a third of the work of writing a number. */
const LAST_DIGITS = Array.from({ length: 36 ** 2 }, (_, number) => number.toString(36).padStart(2, '0'));

/** New ids: a random word of this process, then a counter: cheap, and no two processes can meet. */
export function newIds(): () => string {
  const word = randomBytes(9).toString('base64url');
  let hundreds = 0;
  let start = '';
  let last = LAST_DIGITS.length;
  return () => {
    if (last === LAST_DIGITS.length) {
      start = `${word}-${(hundreds++).toString(36)}`;
      last = 0;
    }
    return start + LAST_DIGITS[last++];
  };
}
