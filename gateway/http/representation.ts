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
  /** A small body's bytes as text, a character each; a larger one in pieces. */
  content: string | readonly Buffer[];
  /** All headers for callers who have no standing, but for the id of the request; null until they are made. */
  openHeaders: string[] | null;
}

export interface Wishes {
  acceptEncoding: string | undefined;
  ifNoneMatch: string | undefined;
  /** Free routes carry entity tags. */
  tagged: boolean;
}

/**
 * Up to here a body is sent as text, because Node sends text, and only text, in one write with its headers: measured, a tenth
 * of all that an answer costs. Beyond, Node has no room for both on its stack, and text is the dearer one.
 */
export const TEXT_MAX_BYTES = 12 * 1024;
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
  { tagged, ifNoneMatch }: Wishes,
  { files }: Snapshot,
): Representation | Promise<Representation> {
  const form: Form = {
    type: JSON_TYPE,
    headers: NO_HEADERS,
    encoding,
    tag: tagged ? files.tag(path, encoding) : null,
  };
  if (isUnchanged(form, ifNoneMatch)) return unchanged(form);
  const bytes = files.bytes(path, encoding);
  return bytes instanceof Promise
    ? bytes.then((whole) => represented(form, [whole]))
    : represented(form, [bytes]);
}

function representBytes(
  { type, headers = NO_HEADERS, chunks }: Body & { kind: 'bytes' },
  wanted: Encoding,
  { tagged, ifNoneMatch }: Wishes,
): Representation | Promise<Representation> {
  const encoding = lengthOf(chunks) < CODING_MIN_BYTES ? 'identity' : wanted;
  const form: Form = { type, headers, encoding, tag: tagged ? contentTag(chunks, encoding) : null };
  if (isUnchanged(form, ifNoneMatch)) return unchanged(form);
  if (encoding === 'identity') return represented(form, chunks);
  const coded = code(chunks, encoding);
  return coded instanceof Promise
    ? coded.then((whole) => represented(form, [whole]))
    : represented(form, [coded]);
}

const NO_HEADERS: readonly string[] = [];

/** What does not depend on what the caller has already. */
type Form = Pick<Representation, 'type' | 'headers' | 'encoding' | 'tag'>;

export const isUnchanged = ({ tag }: Form, ifNoneMatch: string | undefined): boolean =>
  tag !== null && tagMatches(ifNoneMatch, tag);

/** What a caller is told who has the body already. */
export const unchanged = ({ type, headers, encoding, tag }: Form): Representation => ({
  status: 304,
  type,
  headers,
  encoding,
  tag,
  content: '',
  openHeaders: null,
});

const represented = ({ type, headers, encoding, tag }: Form, chunks: readonly Buffer[]): Representation => ({
  status: 200,
  type,
  headers,
  encoding,
  tag,
  content: contentOf(chunks),
  openHeaders: null,
});

export const lengthOf = (content: Representation['content']): number =>
  typeof content === 'string' ? content.length : content.reduce((total, { length }) => total + length, 0);

/** The bytes of a body as they are sent best. */
export const contentOf = (chunks: readonly Buffer[]): Representation['content'] =>
  lengthOf(chunks) > TEXT_MAX_BYTES ? chunks : joined(chunks).toString('latin1');

export const joined = (chunks: readonly Buffer[]): Buffer =>
  chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);

/** From the plain content and the coding, so that equal requests get equal tags from every replica. */
function contentTag(chunks: readonly Buffer[], encoding: Encoding): string {
  const digest = hash('sha256', joined(chunks), 'hex');
  return `"${digest.slice(0, 32)}-${encoding}"`;
}
