/**
 * A body made ready to send: coded, tagged, typed. Everything that can fail happens here, before anything is charged.
 */
import { hash } from 'node:crypto';
import { BoundedCache } from '../metering/bounded-cache.ts';
import { type Encoding, TEXT_MAX_BYTES } from '../snapshot/route-files.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { code } from './coding.ts';
import { chooseEncoding, tagMatches } from './negotiation.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** What a route answers with. */
export type Body =
  /** A prerendered file of the snapshot. */
  | { kind: 'file'; path: string }
  /** Bytes made for this request. */
  | { kind: 'bytes'; type: string; chunks: readonly Buffer[]; headers?: readonly string[] };

export interface Representation {
  status: 200 | 304;
  type: string;
  /** Names and values in turn, beyond those that every answer has. */
  headers: readonly string[];
  encoding: Encoding;
  /** Strong entity tag; null on answers that no cache may keep. */
  tag: string | null;
  chunks: readonly Buffer[];
  /** Of a file: this very object is made once and sent often, in one chunk at most. */
  kept: boolean;
  /** A small file's bytes again, a character each; null elsewhere. */
  text: string | null;
}

export interface Wishes {
  acceptEncoding: string | undefined;
  ifNoneMatch: string | undefined;
  /** Free routes carry entity tags. */
  tagged: boolean;
}

/** Smaller bodies gain nothing from coding. */
const CODING_MIN_BYTES = 1500;

export function represent(
  body: Body,
  wishes: Wishes,
  snapshot: Snapshot,
): Representation | Promise<Representation> {
  const wanted = chooseEncoding(wishes.acceptEncoding);
  return body.kind === 'file'
    ? representFile(body.path, wanted, wishes, snapshot)
    : representBytes(body, wanted, wishes);
}

function representFile(
  path: string,
  encoding: Encoding,
  wishes: Wishes,
  snapshot: Snapshot,
): Representation | Promise<Representation> {
  const { tagged, ifNoneMatch } = wishes;
  if (tagged && ifNoneMatch !== undefined) {
    const tag = snapshot.files.tag(path, encoding);
    if (tagMatches(ifNoneMatch, tag)) return unchanged.get(tag) ?? unchangedFile(tag, encoding);
  }
  const whole = (bytes: Buffer): Representation =>
    wholeFiles.get(bytes) ?? wholeFile(bytes, tagged ? snapshot.files.tag(path, encoding) : null, encoding);
  const bytes = snapshot.files.bytes(path, encoding);
  return bytes instanceof Promise ? bytes.then(whole) : whole(bytes);
}

const NO_HEADERS: readonly string[] = [];

const ofFile = (tag: string | null, encoding: Encoding) => ({
  type: JSON_TYPE,
  headers: NO_HEADERS,
  encoding,
  tag,
  kept: true,
});

/** What a caller has already, by tag: what else it says is the same for everybody. */
const UNCHANGED_KEPT = 4096;
const unchanged = new BoundedCache<Representation>(UNCHANGED_KEPT);

function unchangedFile(tag: string, encoding: Encoding): Representation {
  const made: Representation = { ...ofFile(tag, encoding), status: 304, chunks: [], text: '' };
  unchanged.set(tag, made);
  return made;
}

/** A file has one route, so its bytes always go with the same tag; they are found by the buffer that holds them. */
const wholeFiles = new WeakMap<Buffer, Representation>();

function wholeFile(bytes: Buffer, tag: string | null, encoding: Encoding): Representation {
  const text = tag !== null && bytes.length <= TEXT_MAX_BYTES ? bytes.toString('latin1') : null;
  const made: Representation = { ...ofFile(tag, encoding), status: 200, chunks: [bytes], text };
  wholeFiles.set(bytes, made);
  return made;
}

function representBytes(
  body: Body & { kind: 'bytes' },
  wanted: Encoding,
  wishes: Wishes,
): Representation | Promise<Representation> {
  const { chunks } = body;
  const bytes = chunks.reduce((total, chunk) => total + chunk.length, 0);
  const encoding = bytes < CODING_MIN_BYTES ? 'identity' : wanted;
  const tag = wishes.tagged ? contentTag(chunks, encoding) : null;
  const base = {
    type: body.type,
    headers: body.headers ?? NO_HEADERS,
    encoding,
    tag,
    kept: false,
    text: null,
  };
  if (tag !== null && tagMatches(wishes.ifNoneMatch, tag)) {
    return { ...base, status: 304, chunks: [] };
  }
  if (encoding === 'identity') return { ...base, status: 200, chunks };
  const coded = code(chunks, encoding);
  return coded instanceof Promise
    ? coded.then((whole) => ({ ...base, status: 200, chunks: [whole] }))
    : { ...base, status: 200, chunks: [coded] };
}

/** From the plain content and the coding, so that equal requests get equal tags from every replica. */
function contentTag(chunks: readonly Buffer[], encoding: Encoding): string {
  const digest = hash('sha256', chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks), 'hex');
  return `"${digest.slice(0, 32)}-${encoding}"`;
}
