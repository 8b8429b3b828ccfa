/**
 * A body made ready to send: coded, tagged, typed. Everything that can fail happens here, before anything is charged.
 */
import { hash } from 'node:crypto';
import type { Encoding } from '../snapshot/route-files.ts';
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
  const tag = wishes.tagged ? snapshot.files.tag(path, encoding) : null;
  const base = { type: JSON_TYPE, headers: [], encoding, tag };
  if (tag !== null && tagMatches(wishes.ifNoneMatch, tag)) return { ...base, status: 304, chunks: [] };
  const bytes = snapshot.files.bytes(path, encoding);
  if (bytes instanceof Promise) return bytes.then((read) => ({ ...base, status: 200, chunks: [read] }));
  return { ...base, status: 200, chunks: [bytes] };
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
  const base = { type: body.type, headers: body.headers ?? [], encoding, tag };
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
