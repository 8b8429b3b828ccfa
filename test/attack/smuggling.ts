/**
 * Request smuggling: requests whose end is ambiguous, with a second request behind it. The second one carries an
 * X-Request-Id, so an answer to it is recognised.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

export const SMUGGLED_ID = 'smuggled-1';
const INNER = `GET /v1/ping HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${SMUGGLED_ID}\r\n\r\n`;
const HEAD = 'GET /v1/topics HTTP/1.1\r\nHost: a\r\n';
const POST = 'POST /v1/topics HTTP/1.1\r\nHost: a\r\n';

const ofLength = (header: string, head = POST): string => `${head}${header}\r\n\r\n${INNER}`;
const chunked = (header: string, head = POST): string => `${head}${header}\r\n\r\n0\r\n\r\n${INNER}`;
const size = INNER.length;

/** Named by what is ambiguous. */
export const SMUGGLING_SHAPES: readonly (readonly [name: string, bytes: string])[] = [
  ['a length and chunks', chunked(`Content-Length: ${size + 5}\r\nTransfer-Encoding: chunked`)],
  ['chunks and a length', chunked(`Transfer-Encoding: chunked\r\nContent-Length: ${size + 5}`)],
  ['an unknown coding', chunked(`Transfer-Encoding: xchunked\r\nContent-Length: ${size + 5}`)],
  ['chunked is not the last coding', chunked('Transfer-Encoding: chunked, identity')],
  ['two codings', chunked('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity')],
  ['a tab before chunked', chunked(`Transfer-Encoding:\tchunked\r\nContent-Length: ${size + 5}`)],
  ['chunked in quotes', chunked(`Transfer-Encoding: "chunked"\r\nContent-Length: ${size + 5}`)],
  ['a vertical tab before chunked', chunked(`Transfer-Encoding: \vchunked\r\nContent-Length: ${size + 5}`)],
  ['a blank before the colon', chunked(`Transfer-Encoding : chunked\r\nContent-Length: ${size + 5}`)],
  ['a folded header', chunked(`Transfer-Encoding:\r\n chunked\r\nContent-Length: ${size + 5}`)],
  [
    'a header hidden behind a lone CR',
    chunked(`X: a\rTransfer-Encoding: chunked\r\nContent-Length: ${size + 5}`),
  ],
  [
    'a header hidden behind a lone LF',
    chunked(`X: a\nTransfer-Encoding: chunked\r\nContent-Length: ${size + 5}`),
  ],
  ['two lengths that differ', ofLength(`Content-Length: 0\r\nContent-Length: ${size}`)],
  ['a list of lengths', ofLength(`Content-Length: 0, ${size}`)],
  ['a length with a sign', ofLength(`Content-Length: +${size}`)],
  ['a hexadecimal length', ofLength(`Content-Length: 0x${size.toString(16)}`)],
  ['a length with a blank', ofLength(`Content-Length: ${size} 0`)],
  ['a length beyond all numbers', ofLength(`Content-Length: ${'9'.repeat(30)}`)],
  ['a length on a GET', ofLength(`Content-Length: ${size}`, HEAD)],
  ['a chunk size with a sign', `${POST}Transfer-Encoding: chunked\r\n\r\n-1\r\n${INNER}`],
  ['a hexadecimal prefix of a chunk', `${POST}Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n${INNER}`],
  [
    'a chunk size beyond all numbers',
    `${POST}Transfer-Encoding: chunked\r\n\r\n${'f'.repeat(20)}\r\n${INNER}`,
  ],
  ['a chunk size ended by a lone LF', `${POST}Transfer-Encoding: chunked\r\n\r\n0\n\n${INNER}`],
  ['a chunk longer than its size', `${POST}Transfer-Encoding: chunked\r\n\r\n1\r\nXX\r\n0\r\n\r\n${INNER}`],
  ['lines ended by a lone CR', `GET /v1/topics HTTP/1.1\rHost: a\r\r${INNER}`],
  [
    'an upgrade to HTTP/2',
    `${HEAD}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n`,
  ],
  ['a header without a name', `${HEAD}: x\r\n\r\n${INNER}`],
  ['a NUL in a name', `${HEAD}X\0: x\r\n\r\n${INNER}`],
  ['an old protocol version', `GET /v1/topics HTTP/0.9\r\n\r\n${INNER}`],
  ['a future protocol version', `GET /v1/topics HTTP/2.0\r\nHost: a\r\n\r\n${INNER}`],
];

/** Ends what hangs. */
const SILENT_MAX_MS = 60_000;

/**
 * Sends bytes, as a whole or in pieces, and half-closes the connection. @returns everything received until the server closed it.
 * @param halfCloses false: the server has to close the connection.
 */
export async function exchange(
  port: number,
  bytes: string | Buffer | readonly string[],
  halfCloses = true,
): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: halfCloses });
  await once(socket, 'connect');
  let text = '';
  socket.setEncoding('latin1');
  socket.on('data', (piece: string) => {
    text += piece;
  });
  socket.on('error', () => socket.destroy());
  socket.setTimeout(SILENT_MAX_MS, () => socket.destroy());
  const closed = once(socket, 'close');
  for (const piece of Array.isArray(bytes) ? bytes : [bytes]) {
    socket.write(piece, 'latin1');
    await nextTurn();
  }
  if (halfCloses) socket.end();
  await closed;
  return text;
}

/** Number of HTTP answers in a text. */
export const answersIn = (text: string): number => text.match(/HTTP\/1\.1 \d{3} /g)?.length ?? 0;
