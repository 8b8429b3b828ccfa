/** Content becomes a representation: encoded, compressed, tagged, and ready to be sent. */
import { hash } from 'node:crypto';
import { type Content, document, type PageFacts } from '../../operations/operation.ts';
import type { Edition } from '../../snapshot/editions/edition.ts';
import type { Snapshot } from '../../snapshot/editions/snapshot.ts';
import type { Encoding } from '../../snapshot/files/route-files.ts';
import { type BodyStream, isLong, openStream } from './body-stream.ts';
import { chooseEncoding, compress } from './compression.ts';
import { isNotModified } from './conditional-requests.ts';
import {
  disposition,
  downloadHeaders,
  type FileContent,
  fileHeaders,
  linkHeaders,
  pageHeaders,
  type RowContent,
} from './content-headers.ts';
import { ALL_OF_IT, askedPart, type FileHeaders, fileTag, readPart } from './file-content.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';
/** Compressed as it is. */
const PNG = 'image/png';

export const isStream = (body: Representation['body']): body is BodyStream => 'source' in body;

/** A body ready to be sent, to any number of callers. */
export interface Representation {
  status: 200 | 206 | 304 | 404;
  type: string;
  /** Alternating names and values, in addition to those on every answer. */
  headers: readonly string[];
  encoding: Encoding;
  /** Strong entity tag; null on answers that no cache may keep. */
  tag: string | null;
  /** Id of the edition that answers; null for the served one. */
  edition: string | null;
  /** In pieces; one too long to be held, as a stream. */
  body: readonly Buffer[] | BodyStream;
  /** Memory that the body holds until it is read, where that is more than its own length: a part of a file holds all of it. */
  held_bytes?: number;
}

/** Request headers that decide the representation. */
export interface Preferences {
  /** As sent, without what the operation ignores. */
  readonly url: string;
  acceptEncoding: string | undefined;
  ifNoneMatch: string | undefined;
  /** Which part of a file is asked for, and whether only its head; absent for all of it. */
  readonly file?: FileHeaders;
  /** Answers of cacheable operations carry entity tags. */
  isTagged: boolean;
}

/** Smaller bodies gain nothing from compression. */
const COMPRESSION_MIN_BYTES = 1500;

type FormOfRows = Pick<Representation, 'type' | 'headers' | 'edition'> & { isCompressible: boolean };
type Form = Pick<Representation, 'type' | 'headers' | 'encoding' | 'tag' | 'edition'>;

export function represent(
  content: Content,
  preferences: Preferences,
  snapshot: Snapshot,
  edition?: Pick<Edition, 'id'>,
): Representation | Promise<Representation> {
  const id = edition?.id ?? null;
  const links = linkHeaders(content, preferences);
  if (content.kind === 'file') return representFile(content.path, links, preferences, snapshot);
  if (content.kind === 'whole') return representWhole(content, { headers: links, edition: id }, preferences);
  if (content.kind === 'object')
    return represent(document(JSON.stringify(content.value)), preferences, snapshot, edition);
  if (content.kind === 'document') {
    const { json, mediaType: type = JSON_TYPE, fileName, page } = content;
    const isCompressible = type !== PNG;
    if (page) return representPage(json, page, { type, isCompressible, edition: id }, preferences);
    const headers = fileName === undefined ? links : [...links, ...disposition(fileName)];
    return representBytes([json], { type, headers, isCompressible, edition: id }, preferences);
  }
  const { mediaType: type, isCompressible } = content.encoder;
  const headers = [...links, ...downloadHeaders(content)];
  const about = { type, headers, isCompressible, edition: id };
  if (content.kind === 'table' && isLong(content.table)) {
    const opened = openStream(content.table, content.encoder.stream(content.table));
    return opened.then((stream) => representStream(stream, about, preferences));
  }
  return piecesOf(content).then((made) => representBytes(made, about, preferences));
}

/** The whole body of rows. */
export async function piecesOf(content: RowContent): Promise<Buffer[]> {
  if (content.kind === 'observations') return content.encoder.encodeCached(content.table);
  const pieces: Buffer[] = [];
  for await (const piece of content.encoder.stream(content.table)) pieces.push(piece);
  return pieces;
}

async function representPage(
  bytes: Buffer,
  { status, isEmbeddable }: PageFacts,
  form: Omit<FormOfRows, 'headers'>,
  preferences: Preferences,
): Promise<Representation> {
  const isTagged = status === 200;
  const headers = pageHeaders(isEmbeddable);
  const made = await representBytes([bytes], { ...form, headers }, { ...preferences, isTagged });
  return isTagged ? made : { ...made, status };
}

function representStream(
  stream: BodyStream,
  { type, headers, isCompressible, edition }: FormOfRows,
  { acceptEncoding }: Preferences,
): Representation {
  const encoding = isCompressible ? chooseEncoding(acceptEncoding) : 'identity';
  return { ...ok({ type, headers, encoding, tag: null, edition }, []), body: stream };
}

function representFile(
  path: string,
  headers: readonly string[],
  { acceptEncoding, isTagged, ifNoneMatch }: Preferences,
  { routes }: Snapshot,
): Representation | Promise<Representation> {
  const encoding = chooseEncoding(acceptEncoding);
  const tag = isTagged ? routes.tag(path, encoding) : null;
  const form: Form = { type: JSON_TYPE, headers, encoding, tag, edition: null };
  if (isNotModified(tag, ifNoneMatch)) return notModified(form);
  const bytes = routes.bytes(path, encoding);
  return bytes instanceof Promise ? bytes.then((whole) => ok(form, [whole])) : ok(form, [bytes]);
}

/** A published file, or a part of it. It has no other coding than its own. */
async function representWhole(
  content: FileContent,
  { headers, edition }: Pick<Representation, 'headers' | 'edition'>,
  preferences: Preferences,
): Promise<Representation> {
  const { file: stored, mediaType: type } = content;
  const { file: asked = ALL_OF_IT, ifNoneMatch } = preferences;
  const size = stored.bytes;
  const own = [...headers, ...fileHeaders(content)];
  const form: Form = { type, headers: own, encoding: 'identity', tag: fileTag(stored), edition };
  if (isNotModified(form.tag, ifNoneMatch)) return notModified(form);
  if (asked.isHead) return ok({ ...form, headers: [...own, 'Content-Length', String(size)] }, []);
  const part = askedPart(stored, asked);
  if (part === 'unsatisfiable') throw new Error('an unsatisfiable range is refused before');
  const { from, to } = part ?? { from: 0, to: size };
  const read = await readPart(stored, { from, to });
  const isWhole = Buffer.isBuffer(read);
  const body: Representation['body'] = isWhole ? [read] : { source: read, bytes: to - from, isExact: true };
  if (part === null) return { ...ok(form, []), body };
  const ranged = ['Content-Range', `bytes ${from}-${to - 1}/${size}`];
  const held = isWhole && { held_bytes: read.buffer.byteLength };
  return { ...ok({ ...form, headers: [...own, ...ranged] }, []), status: 206, body, ...held };
}

function representBytes(
  chunks: readonly Buffer[],
  { type, headers, isCompressible, edition }: FormOfRows,
  { acceptEncoding, isTagged, ifNoneMatch }: Preferences,
): Representation | Promise<Representation> {
  const isPlain = !isCompressible || lengthOf(chunks) < COMPRESSION_MIN_BYTES;
  const encoding = isPlain ? 'identity' : chooseEncoding(acceptEncoding);
  const tag = isTagged ? contentTag(chunks, encoding) : null;
  const form: Form = { type, headers, encoding, tag, edition };
  if (isNotModified(tag, ifNoneMatch)) return notModified(form);
  if (encoding === 'identity') return ok(form, chunks);
  const compressed = compress(chunks, encoding);
  return compressed instanceof Promise
    ? compressed.then((whole) => ok(form, [whole]))
    : ok(form, [compressed]);
}

/** From the plain content and the coding, so that every replica gives equal content an equal tag. */
function contentTag(chunks: readonly Buffer[], encoding: Encoding): string {
  const digest = hash('sha256', joined(chunks), 'hex');
  return `"${digest.slice(0, 32)}-${encoding}"`;
}

export const notModified = ({ type, headers, encoding, tag, edition }: Form): Representation => ({
  status: 304,
  type,
  headers,
  encoding,
  tag,
  edition,
  body: [],
});

const ok = (form: Form, body: readonly Buffer[]): Representation => ({ status: 200, ...form, body });

/** About, for a stream. */
export const lengthOf = (body: Representation['body']): number =>
  isStream(body) ? body.bytes : body.reduce((total, { length }) => total + length, 0);

export const joined = (chunks: readonly Buffer[]): Buffer =>
  chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
