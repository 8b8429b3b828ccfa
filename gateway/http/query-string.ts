/**
 * Reads a query string: the last of a repeated parameter counts, `+` is a space, bytes are UTF-8.
 *
 * A value that is not valid percent-encoded UTF-8 is kept apart as `UNREADABLE`: whoever wants that parameter says
 * so to the caller, and nobody guesses what was meant.
 */

export const UNREADABLE = Symbol('not valid percent-encoded UTF-8');
export type QueryText = string | typeof UNREADABLE;
export type QueryParameters = Readonly<Record<string, QueryText>>;

/** What a request without a query has; always this very object. */
export const NO_PARAMETERS: QueryParameters = Object.freeze(Object.create(null));
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function parseQueryString(text: string): QueryParameters {
  if (text === '') return NO_PARAMETERS;
  const parameters: Record<string, QueryText> = Object.create(null);
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    if (name === UNREADABLE) continue;
    parameters[name] = equals < 0 ? '' : decode(pair.slice(equals + 1));
  }
  return parameters;
}

const PLAIN = /^[\x20-\x24\x26-\x2a\x2c-\x7e]*$/;

function decode(text: string): QueryText {
  if (PLAIN.test(text)) return text;
  const bytes = Buffer.from(text.replaceAll('+', ' '), 'latin1');
  const unescaped = bytes.includes(PERCENT) ? unescapeBytes(bytes) : bytes;
  if (unescaped === null) return UNREADABLE;
  try {
    return utf8.decode(unescaped);
  } catch {
    return UNREADABLE;
  }
}

const PERCENT = 0x25;

/** The bytes that `%XX` stand for, or null when a `%` is not followed by two hexadecimal digits. */
function unescapeBytes(bytes: Buffer): Buffer | null {
  const out = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte !== PERCENT) {
      out[length] = byte;
    } else {
      const digits = bytes.toString('latin1', at + 1, at + 3);
      if (!/^[0-9A-Fa-f]{2}$/.test(digits)) return null;
      out[length] = Number.parseInt(digits, 16);
      at += 2;
    }
    length += 1;
  }
  return out.subarray(0, length);
}
