/** Text in header values: what HTTP lets pass as it is stays readable, everything else is percent-encoded UTF-8. */

const UNSAFE = /[^\x20-\x24\x26-\x7e]+/gu;

/**
 * A value that `decodeURIComponent` gives back exactly. Printable ASCII but `%` stays as it is, so most credit lines
 * read as written.
 */
export const headerText = (text: string): string => text.toWellFormed().replaceAll(UNSAFE, percentEncode);

/** An address inside the angle brackets of a Link header. */
export const headerAddress = (address: string): string =>
  address.toWellFormed().replaceAll(/[^\x21-\x3b\x3d\x3f-\x7e]+/gu, percentEncode);

const percentEncode = (text: string): string =>
  [...Buffer.from(text, 'utf8')]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
