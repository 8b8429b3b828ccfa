/** Content becomes a representation: encoded, compressed, tagged, with the headers that it brings along, and ready to be sent. */
import { hash } from 'node:crypto';
import type { IndicatorAlias } from '../../../../data/schema/curated.ts';
import type { Table } from '../../encoders/encoders.ts';
import {
  type Content,
  type Credit,
  type Description,
  document,
  type PageFacts,
} from '../../operations/operations.ts';
import { type Edition, type Encoding, type Snapshot, sunsetOf } from '../../snapshot/snapshot.ts';
import { type BodyStream, openStream } from './body-stream.ts';
import { ALL_OF_IT, askedPart, type FileHeaders, fileTag, readPart } from './file-content.ts';
import { chooseEncoding, compress, isNotModified } from './negotiation.ts';

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

/** Answers up to this size are collected, so that they have a `Content-Length`: 32,768 rows of eight columns. */
const COLLECTED_CELLS = 262_144;
/** Smaller bodies gain nothing from compression. */
const COMPRESSION_MIN_BYTES = 1500;

type FormOfRows = Pick<Representation, 'type' | 'headers' | 'edition'> & { isCompressible: boolean };
type Form = Pick<Representation, 'type' | 'headers' | 'encoding' | 'tag' | 'edition'>;

export async function represent(
  content: Content,
  preferences: Preferences,
  snapshot: Snapshot,
  edition?: Pick<Edition, 'id'>,
): Promise<Representation> {
  const id = edition?.id ?? null;
  const links = requestHeaders(content, preferences);
  if (content.kind === 'file') return representFile(content.path, links, preferences, snapshot);
  if (content.kind === 'whole') return representWhole(content, { headers: links, edition: id }, preferences);
  if (content.kind === 'object')
    return represent(document(JSON.stringify(content.value)), preferences, snapshot, edition);
  if (content.kind === 'document') {
    const { json, mediaType: type = JSON_TYPE, page } = content;
    const isCompressible = type !== PNG;
    if (page) return representPage(json, page, { type, isCompressible, edition: id }, preferences);
    return representBytes([json], { type, headers: links, isCompressible, edition: id }, preferences);
  }
  const { mediaType: type, isCompressible } = content.encoder;
  const about = { type, headers: [...links, ...downloadHeaders(content)], isCompressible, edition: id };
  if (!isLong(content.table)) return representBytes(await piecesOf(content), about, preferences);
  const body = await openStream(content.table, content.encoder.stream(content.table));
  const encoding = isCompressible ? chooseEncoding(preferences.acceptEncoding) : 'identity';
  return { ...ok({ ...about, encoding, tag: null }, []), body };
}

/** A table whose text is kept is never too long. */
const isLong = ({ keptText, rows, columns }: Table): boolean =>
  keptText === undefined && rows * columns.length > COLLECTED_CELLS;

/** The whole body of rows. */
export async function piecesOf({ table, encoder }: RowContent): Promise<Buffer[]> {
  const { keptText } = table;
  if (encoder.fromKept && keptText) return encoder.fromKept(table, keptText);
  const pieces: Buffer[] = [];
  for await (const piece of encoder.stream(table)) pieces.push(piece);
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

async function representFile(
  path: string,
  headers: readonly string[],
  { acceptEncoding, isTagged, ifNoneMatch }: Preferences,
  { routes }: Snapshot,
): Promise<Representation> {
  const encoding = chooseEncoding(acceptEncoding);
  const tag = isTagged ? routes.tag(path, encoding) : null;
  const form: Form = { type: JSON_TYPE, headers, encoding, tag, edition: null };
  if (isNotModified(tag, ifNoneMatch)) return notModified(form);
  return ok(form, [await routes.bytes(path, encoding)]);
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
  if (asked.isHead) return ok({ ...form, headers: [...own, 'content-length', String(size)] }, []);
  const part = askedPart(stored, asked);
  if (part === 'unsatisfiable') throw new Error('an unsatisfiable range is refused before');
  const { from, to } = part ?? { from: 0, to: size };
  const read = await readPart(stored, { from, to });
  const isWhole = Buffer.isBuffer(read);
  const body: Representation['body'] = isWhole ? [read] : { source: read, bytes: to - from, isExact: true };
  if (part === null) return { ...ok(form, []), body };
  const ranged = ['content-range', `bytes ${from}-${to - 1}/${size}`];
  const held = isWhole && { held_bytes: read.buffer.byteLength };
  return { ...ok({ ...form, headers: [...own, ...ranged] }, []), status: 206, body, ...held };
}

export async function representBytes(
  chunks: readonly Buffer[],
  { type, headers, isCompressible, edition }: FormOfRows,
  { acceptEncoding, isTagged, ifNoneMatch }: Preferences,
): Promise<Representation> {
  const isPlain = !isCompressible || lengthOf(chunks) < COMPRESSION_MIN_BYTES;
  const encoding = isPlain ? 'identity' : chooseEncoding(acceptEncoding);
  const tag = isTagged ? contentTag(chunks, encoding) : null;
  const form: Form = { type, headers, encoding, tag, edition };
  if (isNotModified(tag, ifNoneMatch)) return notModified(form);
  return ok(form, encoding === 'identity' ? chunks : [await compress(chunks, encoding)]);
}

/** From the plain content and the coding, so that every replica gives equal content an equal tag. */
const contentTag = (chunks: readonly Buffer[], encoding: Encoding): string =>
  `"${hash('sha256', joined(chunks), 'hex').slice(0, 32)}-${encoding}"`;

const notModified = (form: Form): Representation => ({ ...form, status: 304, body: [] });

/** A 304 to a client that has the answer. */
export const unlessKnown = (whole: Representation, ifNoneMatch: string | undefined): Representation =>
  isNotModified(whole.tag, ifNoneMatch) ? notModified(whole) : whole;

const ok = (form: Form, body: readonly Buffer[]): Representation => ({ status: 200, ...form, body });

/** About, for a stream. */
export const lengthOf = (body: Representation['body']): number =>
  isStream(body) ? body.bytes : body.reduce((total, { length }) => total + length, 0);

export const joined = (chunks: readonly Buffer[]): Buffer =>
  chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);

/** What an encoder turns into a body. */
export type RowContent = Extract<Content, { kind: 'table' }>;
export type FileContent = Extract<Content, { kind: 'whole' }>;

/** Printable ASCII stays readable in a header, everything else is percent-encoded UTF-8. */
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

/**
 * What the answer says of the request: the call by the id of today, documents about what is answered, codes that no country has.
 * @param request its URL is read for a former id only: working it out costs time.
 */
export function requestHeaders(
  { alias, describedBy, unmatched, isUnlisted }: Content,
  request: { readonly url: string },
): string[] {
  const headers = alias === undefined ? [] : renameHeaders(alias, request.url);
  if (describedBy !== undefined) headers.push('link', descriptionLinks(describedBy));
  if (isUnlisted) headers.push('x-robots-tag', 'noindex');
  if (unmatched !== undefined)
    headers.push('x-unmatched-countries', unmatched.join(', '), 'access-control-expose-headers', UNMATCHED);
  return headers;
}

const UNMATCHED = 'X-Unmatched-Countries';

/** The relation is defined by the Protocol for Web Description Resources (POWDER). */
const descriptionLinks = (descriptions: readonly Description[]): string =>
  descriptions
    .map(({ path, mediaType }) => {
      const type = mediaType.split(';', 1)[0];
      return `<${headerAddress(path)}>; rel="describedby"; type="${type}"`;
    })
    .join(', ');

/**
 * `Deprecation` (RFC 9745): the day of the rename. `Sunset` (RFC 8594): when the former id answers no more.
 * `Link` with `successor-version` (RFC 5829): the same call by the id of today.
 */
function renameHeaders(alias: IndicatorAlias, url: string): string[] {
  const { old, new: now, since } = alias;
  const headers = ['deprecation', `@${Date.parse(since) / 1000}`];
  const sunset = sunsetOf(alias);
  if (sunset !== null) headers.push('sunset', new Date(sunset).toUTCString());
  // A caller may have escaped characters of the id that need no escape.
  const successor = url.includes(old) ? url.replace(old, now) : `/v1/indicators/${now}`;
  headers.push('link', `<${headerAddress(successor)}>; rel="successor-version"`);
  return [...headers, 'access-control-expose-headers', 'Deprecation, Link, Sunset'];
}

const disposition = (fileName: string): string[] => [
  'content-disposition',
  `attachment; filename="${fileName}"`,
];

/** A download states its licences in headers, because its body may have no place for them. */
export function downloadHeaders({ table, encoder: { extension } }: RowContent): string[] {
  if (extension === null) return [];
  const { name, indicators } = table;
  return [...disposition(`${name}.${extension}`), ...creditHeaders(indicators)];
}

/** What clients tell credit lines apart by, and some of them bound. */
const CREDITS_MAX = 4096;

/** The credit lines of a file may be more than a header takes: then the first, that of the provider. */
export const fileHeaders = ({ name, credits }: FileContent): string[] => [
  ...['accept-ranges', 'bytes', ...disposition(name), ...creditHeaders(credits, CREDITS_MAX)],
  ...['access-control-expose-headers', 'Accept-Ranges, Content-Range'],
];

function creditHeaders(credits: readonly Credit[], maxLength = Number.POSITIVE_INFINITY): string[] {
  const lines = [...new Set(credits.map(({ attribution }) => attribution))];
  const all = headerText(lines.join('; '));
  const text = all.length <= maxLength ? all : headerText(lines[0] ?? '');
  const headers = text === '' ? [] : ['x-attribution', text];
  for (const url of new Set(credits.map(({ licence_url }) => licence_url)))
    if (url !== null) headers.push('link', `<${headerAddress(url)}>; rel="license"`);
  return headers;
}

/** Nothing from elsewhere, no inline script or style, no frame but for embeds. */
const policy = (ancestors: string): string =>
  "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  `form-action 'self'; base-uri 'none'; frame-ancestors ${ancestors}`;

const REFERRER = ['referrer-policy', 'strict-origin-when-cross-origin'] as const;
const EMBEDDABLE = ['content-security-policy', policy('*'), ...REFERRER];
const FRAMELESS = ['content-security-policy', policy("'none'"), 'x-frame-options', 'DENY', ...REFERRER];

export const pageHeaders = (isEmbeddable: boolean): readonly string[] =>
  isEmbeddable ? EMBEDDABLE : FRAMELESS;
