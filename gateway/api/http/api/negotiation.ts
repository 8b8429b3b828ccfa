/**
 * What a client can take and what it has already: the content coding that it gets, whether its copy still holds, and which part
 * of a file it asks for (RFC 9110, sections 12 to 14).
 *
 * Small bodies are compressed in place. Large ones are compressed off the event loop, a few at a time, and whole before
 * anything is sent: memory stays bounded, a slow client holds no compressor, and the answer has a `Content-Length`. Only
 * bodies that are streamed are compressed on the way.
 */
import type { Transform } from 'node:stream';
import { promisify } from 'node:util';
import {
  brotliCompress,
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createGzip,
  createZstdCompress,
  gzip,
  gzipSync,
  zstdCompress,
  zstdCompressSync,
} from 'node:zlib';
import pLimit from 'p-limit';
import { QueueFull } from '../../core/errors.ts';
import type { Encoding } from '../../snapshot/snapshot.ts';

type Compressed = Exclude<Encoding, 'identity'>;

/** Most preferred first, at equal quality. */
const PREFERENCE: readonly Encoding[] = ['br', 'zstd', 'gzip', 'identity'];

/** Clients send few distinct headers; the bound keeps odd ones from growing this. */
const NEGOTIATED_MAX = 256;
const negotiated = new Map<string, Encoding>();

/** The coding for an `Accept-Encoding` header. `identity` where nothing acceptable can be made. */
export function chooseEncoding(header: string | undefined): Encoding {
  if (header === undefined) return 'identity';
  const known = negotiated.get(header);
  if (known) return known;
  const chosen = negotiate(header);
  if (negotiated.size < NEGOTIATED_MAX) negotiated.set(header, chosen);
  return chosen;
}

const ALIASES: Readonly<Record<string, string>> = { 'x-gzip': 'gzip' };

function negotiate(header: string): Encoding {
  const qualities = new Map<string, number>();
  for (const part of header.split(',')) {
    const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    const quality = weight === undefined ? 1 : Number(weight.slice(2));
    if (name !== '') qualities.set(ALIASES[name] ?? name, quality >= 0 && quality <= 1 ? quality : 0);
  }
  const qualityOf = (encoding: Encoding): number => qualities.get(encoding) ?? qualities.get('*') ?? 0;
  const best = PREFERENCE.reduce((a, b) => (qualityOf(b) > qualityOf(a) ? b : a));
  return qualityOf(best) > 0 ? best : 'identity';
}

/** Below this, compressing in place costs less than handing over to a thread. */
const IN_PLACE_MAX_BYTES = 16 * 1024;
/** Node has four worker threads; one stays free for files. */
const THREADS = 3;
const QUEUE_MAX = 512;
const CHUNK_MIN_BYTES = 1_024;
const CHUNK_BYTES = 256 * 1024;

/** Low levels: each body is compressed for one reader. */
const brotliOf = (quality: number) => ({
  params: { [constants.BROTLI_PARAM_QUALITY]: quality },
  chunkSize: CHUNK_BYTES,
});
const BROTLI = brotliOf(2);
/** For bodies up to a chunk, such as pages: 5 % smaller, for 0.8 ms more of a page of 200 kB. */
const BROTLI_OF_PAGES = brotliOf(4);
const brotliFor = ({ length }: Buffer) => (length > CHUNK_BYTES ? BROTLI : BROTLI_OF_PAGES);
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1 }, chunkSize: CHUNK_BYTES };
const GZIP = { level: 1, chunkSize: CHUNK_BYTES };

/**
 * Most bodies fit, compressed, into one chunk of half their size. It stays in memory as long as the compressed body: chunks
 * of full size made V8 collect garbage so often that the first request of a page took a third more CPU time.
 */
const fitted = <Options extends object>(options: Options, { length }: Buffer): Options => ({
  ...options,
  chunkSize: Math.min(CHUNK_BYTES, Math.max(CHUNK_MIN_BYTES, Math.ceil(length / 2))),
});

const IN_PLACE: Record<Compressed, (plain: Buffer) => Buffer> = {
  br: (plain) => brotliCompressSync(plain, fitted(brotliFor(plain), plain)),
  zstd: (plain) => zstdCompressSync(plain, fitted(ZSTD, plain)),
  gzip: (plain) => gzipSync(plain, fitted(GZIP, plain)),
};
const brotliAside = promisify(brotliCompress);
const zstdAside = promisify(zstdCompress);
const gzipAside = promisify(gzip);
const ASIDE: Record<Compressed, (plain: Buffer) => Promise<Buffer>> = {
  br: (plain) => brotliAside(plain, fitted(brotliFor(plain), plain)),
  zstd: (plain) => zstdAside(plain, fitted(ZSTD, plain)),
  gzip: (plain) => gzipAside(plain, fitted(GZIP, plain)),
};

/** Compresses a body while it is sent. */
export function compressor(encoding: Compressed): Transform {
  if (encoding === 'br') return createBrotliCompress(BROTLI);
  return encoding === 'zstd' ? createZstdCompress(ZSTD) : createGzip(GZIP);
}

const limit = pLimit(THREADS);

/** The compressed body, at once or after waiting for a thread. @throws {QueueFull} or rejects with it. */
export function compress(chunks: readonly Buffer[], encoding: Compressed): Buffer | Promise<Buffer> {
  const bytes = chunks.reduce((total, chunk) => total + chunk.length, 0);
  if (bytes <= IN_PLACE_MAX_BYTES) return IN_PLACE[encoding](Buffer.concat(chunks));
  if (limit.activeCount + limit.pendingCount >= THREADS + QUEUE_MAX)
    throw new QueueFull(`${QUEUE_MAX} bodies wait to be compressed`);
  // Chunks are joined only when their turn comes: what waits holds no copy.
  return limit(() => ASIDE[encoding](Buffer.concat(chunks)));
}

/** Whether `If-None-Match` names the tag. Weak tags match, because an intermediate cache may have weakened ours. */
export function isNotModified(tag: string | null, ifNoneMatch: string | undefined): boolean {
  if (tag === null || ifNoneMatch === undefined) return false;
  if (ifNoneMatch === tag) return true;
  return ifNoneMatch.split(',').some((candidate) => {
    const trimmed = candidate.trim();
    return trimmed === '*' || (trimmed.startsWith('W/') ? trimmed.slice(2) : trimmed) === tag;
  });
}

/** Bytes from `from` up to, not including, `to`. */
export interface Part {
  from: number;
  to: number;
}

export interface RangeHeaders {
  range: string | undefined;
  ifRange: string | undefined;
}

/** A single range. Anything else, several ranges included, may be answered with the whole file. */
const RANGE = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i;

/**
 * Null for the whole file.
 * @param tag the strong entity tag of the file. @param size of the file in bytes, not 0.
 */
export function partOf(
  { range, ifRange }: RangeHeaders,
  tag: string,
  size: number,
): Part | 'unsatisfiable' | null {
  const [, first = '', last = ''] = RANGE.exec(range ?? '') ?? [];
  if (first === '' && last === '') return null;
  if (ifRange !== undefined && ifRange !== tag) return null;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { from: size - length, to: size };
  }
  const from = Number(first);
  if (last !== '' && Number(last) < from) return null;
  if (from >= size) return 'unsatisfiable';
  return { from, to: last === '' ? size : Math.min(Number(last) + 1, size) };
}
