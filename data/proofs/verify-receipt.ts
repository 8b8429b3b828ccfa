/**
 * Verifies a receipt offline.
 *
 * This file imports nothing of Almanac and needs no network, so that it can be read, trusted and ported on its own.
 * docs/receipts.md describes the same steps in words, with test vectors. `verify-command.ts` is its command line.
 */
import { createPublicKey, hash, verify as verifySignature } from 'node:crypto';

/** Why a receipt is not accepted, as a sentence. */
export class Refused extends Error {
  override name = 'Refused';
}

export function demand(condition: boolean, sentence: string): asserts condition {
  if (!condition) throw new Refused(sentence);
}

// --- JSON -----------------------------------------------------------------------------------------------------------

export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };
export type Members = { [name: string]: Json };

/** Strings (with the colon that makes one a name) and numbers of a JSON text. */
const TOKENS = /"(?:[^"\\]|\\.)*"(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Lists and objects within each other. Deeper ones would only exhaust the stack. */
const MOST_LEVELS = 64;

/** Decodes UTF-8. Bytes that are not UTF-8 must not read as the replacement character, which is a text, too. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Refused('This is not UTF-8.');
  }
}

/** Parses JSON. Refuses repeated names, numbers that a double cannot tell from another, and lone surrogates. */
export function parseJson(text: string): Json {
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refused('This is not JSON.');
  }
  let names = 0;
  for (const [token, colon] of text.matchAll(TOKENS)) {
    if (colon !== undefined) names += 1;
    if (token.startsWith('"')) demand(isUnicode(token, colon), 'A text is not valid Unicode.');
    else demand(isExact(token), `The number ${token} is not equal to its double.`);
  }
  demand(names === countMembers(value), 'A name occurs twice in one object.');
  return value;
}

/** Whether a string has no lone surrogate, given its token in the text. */
const isUnicode = (token: string, colon = ''): boolean =>
  String(JSON.parse(token.slice(0, token.length - colon.length))).isWellFormed();

function countMembers(value: Json, level = 1): number {
  if (typeof value !== 'object' || value === null) return 0;
  demand(level <= MOST_LEVELS, `Lists and objects lie in each other more than ${MOST_LEVELS} deep.`);
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((sum: number, member) => sum + countMembers(member, level + 1), own);
}

const isExact = (token: string): boolean => decimal(token) === decimal(String(Number(token)));

/** A decimal number in one form: `-1.50e3` and `-1500` are both `-15e2`. Not a number: the text itself. */
function decimal(text: string): string {
  const [all, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  if (all === undefined) return text;
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}

/** Canonical JSON (RFC 8785): members sorted by UTF-16 code units; strings and numbers as JavaScript prints them. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${members.map(([name, member]) => `${canonicalJson(name)}:${canonicalJson(member)}`).join(',')}}`;
  }
  demand(typeof value !== 'string' || value.isWellFormed(), 'A text is not valid Unicode.');
  return JSON.stringify(value);
}

/** The members of an object: exactly those named, or those and any others. */
export function membersOf(
  value: Json | undefined,
  what: string,
  names: string,
  others?: 'and others',
): Members {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  demand(isObject, `${what} is not an object.`);
  const asked = names.split(' ');
  const isWhole = asked.every((name) => Object.hasOwn(value, name));
  const isExact = others !== undefined || Object.keys(value).length === asked.length;
  demand(isWhole && isExact, `${what} has other members than ${names.replaceAll(' ', ', ')}.`);
  return value;
}

export function countOf(value: Json | undefined, what: string, least: number): number {
  const isCount = typeof value === 'number' && Number.isSafeInteger(value) && value >= least;
  demand(isCount, `${what} is not a count.`);
  return value;
}

export function textOf(value: Json | undefined, what: string): string {
  demand(typeof value === 'string', `${what} is not a text.`);
  return value;
}

/** The member `data` of an answer of the API; anything else is taken as it is. */
export const dataOf = (value: Json): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value.data ?? value) : value;

const HASH = /^[0-9a-f]{64}$/;

export function pathOf(value: Json | undefined, what: string): Buffer[] {
  demand(Array.isArray(value), `${what} is not a list of hashes.`);
  return value.map((hash) => {
    demand(typeof hash === 'string' && HASH.test(hash), `${what} holds something else than hashes.`);
    return Buffer.from(hash, 'hex');
  });
}

// --- Merkle trees (RFC 6962, RFC 9162 section 2.1) ------------------------------------------------------------------

const sha256 = (...parts: Uint8Array[]): Buffer => hash('sha256', Buffer.concat(parts), 'buffer');

export const leafHash = (leaf: string): Buffer => sha256(Uint8Array.of(0), Buffer.from(leaf));
export const nodeHash = (left: Uint8Array, right: Uint8Array): Buffer =>
  sha256(Uint8Array.of(1), left, right);

const isOdd = (number: number): boolean => number % 2 === 1;
const half = (number: number): number => Math.floor(number / 2);

/** The root to which a path leads from the leaf at `index` of `size` leaves. */
export function rootOf(
  leaf: Buffer,
  index: number,
  size: number,
  path: readonly Buffer[],
  what: string,
): Buffer {
  demand(index < size, `${what}: the leaf lies outside its tree.`);
  let [node, last, hash] = [index, size - 1, leaf];
  for (const sibling of path) {
    demand(last > 0, `${what}: the path is too long.`);
    if (isOdd(node) || node === last) {
      hash = nodeHash(sibling, hash);
      while (!isOdd(node) && node !== 0) [node, last] = [half(node), half(last)];
    } else {
      hash = nodeHash(hash, sibling);
    }
    [node, last] = [half(node), half(last)];
  }
  demand(last === 0, `${what}: the path is too short.`);
  return hash;
}

/** The root over the leaves of a whole tree. @param leaves their hashes, at least one */
function rootOver(leaves: readonly Buffer[]): Buffer {
  let level = leaves;
  while (level.length > 1)
    level = level.flatMap((left, at) => {
      const right = level[at + 1];
      return isOdd(at) ? [] : [right === undefined ? left : nodeHash(left, right)];
    });
  return level[0] ?? sha256();
}

export interface Head {
  size: number;
  root: Buffer;
}

/** Refuses unless the tree `later` begins with all leaves of the tree `earlier`. */
export function verifyConsistency(earlier: Head, later: Head, path: readonly Buffer[]): void {
  const forked = 'The log does not extend the earlier checkpoint.';
  demand(earlier.size >= 1 && earlier.size <= later.size, forked);
  if (earlier.size === later.size) {
    demand(path.length === 0 && earlier.root.equals(later.root), forked);
    return;
  }
  let [node, last] = [earlier.size - 1, later.size - 1];
  while (isOdd(node)) [node, last] = [half(node), half(last)];
  // A complete earlier tree is itself the first node of the path.
  const [start, ...rest] = node === 0 ? [earlier.root, ...path] : path;
  demand(start !== undefined, forked);
  let [old, now] = [start, start];
  for (const sibling of rest) {
    demand(last > 0, forked);
    if (isOdd(node) || node === last) {
      [old, now] = [nodeHash(sibling, old), nodeHash(sibling, now)];
      while (!isOdd(node) && node !== 0) [node, last] = [half(node), half(last)];
    } else {
      now = nodeHash(now, sibling);
    }
    [node, last] = [half(node), half(last)];
  }
  demand(last === 0 && old.equals(earlier.root) && now.equals(later.root), forked);
}

// --- Checkpoints (C2SP tlog-checkpoint, a signed note) ---------------------------------------------------------------

/** A public key, and the sizes of the log for which it counts. */
export interface LogKey {
  name: string;
  /** Eight hexadecimal digits. */
  id: string;
  /** Ed25519, 32 bytes. */
  publicKey: Buffer;
  from: number;
  to: number | null;
}

export interface Checkpoint extends Head {
  /** The name of the log. */
  origin: string;
  /** The keys whose signatures were verified; none when no keys were given. */
  signedBy: string[];
}

const ED25519 = 1;
/** What precedes the 32 bytes of an Ed25519 key in DER. */
const DER_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/** Name of a log and its keys: printable ASCII without space and `+`. */
export const NAME = '[!-*,-~]+';
export const KEY = new RegExp(`^(${NAME})\\+([0-9a-f]{8})\\+([A-Za-z0-9+/]{44})$`);
const NOTE = new RegExp(`^(${NAME}\n[1-9][0-9]{0,14}\n[^\n]+\n)\n((?:— ${NAME} [^ \n]+\n)+)$`);

/** Decodes base64 in the one form that encodes these bytes; null when it is not. */
function decodeBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}

export const keyId = (name: string, publicKey: Uint8Array): string =>
  sha256(Buffer.from(`${name}\n`), Uint8Array.of(ED25519), publicKey).toString('hex', 0, 4);

/** Reads a key of the form `<name>+<id>+<base64 of the byte 1 and the public key>`. */
export function parseKey(text: string, from = 1, to: number | null = null): LogKey {
  const [, name = '', id = '', encoded = ''] = KEY.exec(text) ?? [];
  const bytes = Buffer.from(encoded, 'base64');
  const publicKey = bytes.subarray(1);
  demand(bytes[0] === ED25519 && id === keyId(name, publicKey), `"${text}" is not a key of a log.`);
  return { name, id, publicKey, from, to };
}

/** Reads a list of keys as it stands at `/.well-known/almanac-keys.json`. */
export function parseKeys(text: string): LogKey[] {
  const { keys } = membersOf(parseJson(text), 'The list of keys', 'origin keys', 'and others');
  demand(Array.isArray(keys) && keys.length > 0, 'The list of keys holds no keys.');
  return keys.map((entry) => {
    const { key, from, to } = membersOf(entry, 'A key', 'key from to', 'and others');
    const last = to === null ? null : countOf(to, 'The last size of a key', 1);
    return parseKey(textOf(key, 'A key'), countOf(from, 'The first size of a key', 1), last);
  });
}

/** Verifies every signature of a text by one of `keys`. @param what names it in messages. @returns the ids of the keys */
export function signersOf(what: string, text: string, lines: string, keys: readonly LogKey[]): string[] {
  const signedBy: string[] = [];
  for (const line of lines.slice(0, -1).split('\n')) {
    const [, name, signature64 = ''] = line.split(' ');
    const bytes = decodeBase64(signature64);
    demand(bytes !== null && bytes.length > 4, `A signature of ${what} is not in base64.`);
    const id = bytes.toString('hex', 0, 4);
    const key = keys.find((one) => one.name === name && one.id === id);
    if (!key) continue;
    const der = Buffer.concat([DER_PREFIX, key.publicKey]);
    const publicKey = createPublicKey({ key: der, format: 'der', type: 'spki' });
    const isValid = verifySignature(null, Buffer.from(text), publicKey, bytes.subarray(4));
    demand(isValid, `The signature of ${what} by the key ${id} is wrong.`);
    signedBy.push(id);
  }
  return signedBy;
}

/**
 * Reads a checkpoint, and verifies every signature by one of `keys` that counts.
 * @param keys null: no signature is verified
 */
export function readCheckpoint(note: string, keys: readonly LogKey[] | null): Checkpoint {
  const [, text = '', lines = ''] = NOTE.exec(note) ?? [];
  const [origin = '', size = '', root64 = ''] = text.split('\n');
  const root = decodeBase64(root64);
  demand(root?.length === 32, 'The checkpoint is not in the form of a checkpoint.');
  const head = { origin, size: Number(size), root };
  const counting = (keys ?? []).filter(
    ({ name, from, to }) => name === origin && from <= head.size && head.size <= (to ?? Infinity),
  );
  const signedBy = signersOf('the checkpoint', text, lines, counting);
  const isSigned = keys === null || signedBy.length > 0;
  demand(isSigned, `No known key has signed the checkpoint for ${size} editions of ${origin}.`);
  return { ...head, signedBy };
}

// --- Receipts -------------------------------------------------------------------------------------------------------

export const FORMAT = 'almanac-receipt/1';
const RECEIPT = 'format row descriptor rows edition checkpoint proofs notice';
export const ROW = 'iso3 year value ci_lo ci_hi status projected';
export const DESCRIPTOR = 'indicator unit provider sources';
export const EDITION = 'edition published_at indicators manifest';

export interface Verified {
  row: Members;
  descriptor: Members;
  edition: Members;
  checkpoint: Checkpoint;
  /** Of the indicator: the number of its rows, and its root. */
  tree: { rows: number; root: string };
}

/**
 * Verifies a receipt: each leaf leads by its path to the root that the next leaf holds, the last to the checkpoint.
 * @param keys null: the signature is not verified
 * @throws {Refused}
 */
export function verifyReceipt(text: string, keys: readonly LogKey[] | null): Verified {
  const receipt = membersOf(dataOf(parseJson(text)), 'The receipt', RECEIPT);
  demand(receipt.format === FORMAT, `The format of the receipt is not ${FORMAT}.`);
  const row = membersOf(receipt.row, 'The row', ROW);
  const descriptor = membersOf(receipt.descriptor, 'The descriptor', DESCRIPTOR);
  const rows = countOf(receipt.rows, 'The number of rows', 1);
  const edition = membersOf(receipt.edition, 'The edition', EDITION);
  const indicators = countOf(edition.indicators, 'The number of indicators', 1);
  const proofs = membersOf(receipt.proofs, 'The proofs', 'row descriptor indicator edition');
  const climb = (name: string, leaf: Json, size: number): string => {
    const what = `The proof of the ${name}`;
    const { index, path } = membersOf(proofs[name], what, 'index path');
    const position = countOf(index, `${what}: the index`, 0);
    demand(name !== 'descriptor' || position === 0, 'The descriptor is not the first leaf.');
    return rootOf(leafHash(canonicalJson(leaf)), position, size, pathOf(path, what), what).toString('hex');
  };

  // The indicator's tree: the descriptor is leaf 0, and the only one; the rows follow.
  const indicatorRoot = climb('row', row, rows + 1);
  const sameRoot = climb('descriptor', descriptor, rows + 1);
  demand(indicatorRoot === sameRoot, 'Row and descriptor do not belong to one tree.');
  // The edition's tree: a leaf for each indicator.
  const indicatorLeaf = { indicator: descriptor.indicator ?? null, rows, root: indicatorRoot };
  const editionRoot = climb('indicator', indicatorLeaf, indicators);
  // The log's tree: a leaf for each edition. Its root and size are those of the checkpoint.
  const checkpoint = readCheckpoint(textOf(receipt.checkpoint, 'The checkpoint'), keys);
  const logRoot = climb('edition', { ...edition, root: editionRoot }, checkpoint.size);
  const isLogged = logRoot === checkpoint.root.toString('hex');
  demand(isLogged, 'The receipt does not lead to the root of its checkpoint.');
  return { row, descriptor, edition, checkpoint, tree: { rows, root: indicatorRoot } };
}

/**
 * Refuses unless some rows are all rows of a receipt's tree, one for each country and year.
 * @param text a list of rows in any order, or the answer of `/v1/data` with it; members that leaves lack are left out
 */
export function verifyRows({ descriptor, tree }: Pick<Verified, 'descriptor' | 'tree'>, text: string): void {
  const list = dataOf(parseJson(text));
  demand(Array.isArray(list), 'The rows are not a list.');
  const rows = list.map((entry) => {
    const members = membersOf(entry, 'A row', ROW, 'and others');
    const leaf = Object.fromEntries(ROW.split(' ').map((name) => [name, members[name] ?? null]));
    return { iso3: textOf(members.iso3, 'A country'), year: Number(members.year), leaf };
  });
  rows.sort((a, b) => (a.iso3 === b.iso3 ? a.year - b.year : a.iso3 < b.iso3 ? -1 : 1));
  for (const [at, { iso3, year }] of rows.entries())
    demand(rows[at + 1]?.iso3 !== iso3 || rows[at + 1]?.year !== year, `Two rows are of ${iso3}, ${year}.`);
  demand(rows.length === tree.rows, `The tree has ${tree.rows} rows, not ${rows.length}.`);
  const leaves = [descriptor, ...rows.map(({ leaf }) => leaf)].map((leaf) => leafHash(canonicalJson(leaf)));
  demand(rootOver(leaves).toString('hex') === tree.root, 'The rows are not those of the tree.');
}

/**
 * Refuses unless two checkpoints are of one log.
 * @param proof the answer of `/v1/log/consistency`, or its `data`; not needed for one and the same size
 */
export function verifyOneLog(one: Checkpoint, other: Checkpoint, proof?: string): void {
  demand(one.origin === other.origin, `The checkpoints are of two logs: ${one.origin} and ${other.origin}.`);
  const [earlier, later] = one.size <= other.size ? [one, other] : [other, one];
  const sizes = `from ${earlier.size} to ${later.size}`;
  if (earlier.size === later.size) verifyConsistency(earlier, later, []);
  else {
    demand(proof !== undefined, `A proof of consistency ${sizes} is needed.`);
    const { from, to, path } = membersOf(dataOf(parseJson(proof)), 'The proof', 'from to path');
    demand(from === earlier.size && to === later.size, `The proof of consistency is not ${sizes}.`);
    verifyConsistency(earlier, later, pathOf(path, 'The proof of consistency'));
  }
}
