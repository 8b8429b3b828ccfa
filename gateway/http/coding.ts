/**
 * Content coding of bodies that are made for one request.
 *
 * Small ones are coded on the spot. Large ones are coded beside the event loop, few at a time, and whole before anything
 * is sent or charged: what they hold is bounded however many ask, a slow reader holds coded bytes and no coder, and every
 * answer has a length.
 */
import {
  brotliCompress,
  brotliCompressSync,
  constants,
  gzip,
  gzipSync,
  zstdCompress,
  zstdCompressSync,
} from 'node:zlib';
import { QueueFull } from '../queue-full.ts';
import type { Encoding } from '../snapshot/route-files.ts';

type Coding = Exclude<Encoding, 'identity'>;
type Done = (error: Error | null, coded: Buffer) => void;

/** Up to here coding at once costs less than handing over does. */
const AT_ONCE_MAX_BYTES = 16 * 1024;
/** Node has four threads beside the event loop; one is left for files. */
const CODERS = 3;
const WAITING_MOST = 512;
/** Most bodies are coded in one piece. */
const PIECE_BYTES = 256 * 1024;

/** Cheap levels: dynamic bodies are coded for one reader. */
const BROTLI_OPTIONS = { params: { [constants.BROTLI_PARAM_QUALITY]: 2 }, chunkSize: PIECE_BYTES };
const ZSTD_OPTIONS = { params: { [constants.ZSTD_c_compressionLevel]: 1 }, chunkSize: PIECE_BYTES };
const GZIP_OPTIONS = { level: 1, chunkSize: PIECE_BYTES };

let atWork = 0;
const waiting: (() => void)[] = [];

/** The coded body: at once, or when its turn has come. Rejects with {QueueFull}. */
export function code(chunks: readonly Buffer[], coding: Coding): Buffer | Promise<Buffer> {
  const bytes = chunks.reduce((total, chunk) => total + chunk.length, 0);
  return bytes <= AT_ONCE_MAX_BYTES ? codeAtOnce(Buffer.concat(chunks), coding) : codeInTurn(chunks, coding);
}

async function codeInTurn(chunks: readonly Buffer[], coding: Coding): Promise<Buffer> {
  if (atWork < CODERS) atWork += 1;
  else if (waiting.length >= WAITING_MOST) throw new QueueFull(`${WAITING_MOST} bodies wait already`);
  else await new Promise<void>((settle) => waiting.push(settle));
  try {
    // Put together only now: whoever waits holds no copy.
    return await codeAside(Buffer.concat(chunks), coding);
  } finally {
    const next = waiting.shift();
    if (next) next();
    else atWork -= 1;
  }
}

function codeAside(plain: Buffer, coding: Coding): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const done: Done = (error, coded) => (error ? reject(error) : resolve(coded));
    if (coding === 'br') brotliCompress(plain, BROTLI_OPTIONS, done);
    else if (coding === 'zstd') zstdCompress(plain, ZSTD_OPTIONS, done);
    else gzip(plain, GZIP_OPTIONS, done);
  });
}

function codeAtOnce(plain: Buffer, coding: Coding): Buffer {
  if (coding === 'br') return brotliCompressSync(plain, BROTLI_OPTIONS);
  if (coding === 'zstd') return zstdCompressSync(plain, ZSTD_OPTIONS);
  return gzipSync(plain, GZIP_OPTIONS);
}
