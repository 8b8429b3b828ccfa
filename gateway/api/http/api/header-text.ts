/** Text in header values: printable ASCII stays readable, everything else is percent-encoded UTF-8. */

const UNSAFE = /[^\x20-\x24\x26-\x7e]+/gu;

/** A header value that `decodeURIComponent` decodes to the text. Only `%` of printable ASCII is encoded. */
export const headerText = (text: string): string => text.toWellFormed().replaceAll(UNSAFE, percentEncode);

/** A URL for the angle brackets of a `Link` header. */
export const headerAddress = (address: string): string =>
  address.toWellFormed().replaceAll(/[^\x21-\x3b\x3d\x3f-\x7e]+/gu, percentEncode);

const percentEncode = (text: string): string =>
  [...Buffer.from(text, 'utf8')]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
