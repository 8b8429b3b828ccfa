/** The signed head of the log (C2SP tlog-checkpoint) and the keys that sign it. */
import { type Bytes, fromBase64, isSigned, joined, sha256, toHex, utf8 } from './crypto.ts';
import { countOf, decodeUtf8, demand, membersOf, parseJson, textOf } from './exact-json.ts';
import type { Head } from './merkle.ts';

const NAME = '[!-*,-~]+';
const KEY = new RegExp(`^(${NAME})\\+([0-9a-f]{8})\\+([A-Za-z0-9+/]{44})$`);
const NOTE = new RegExp(`^(${NAME}\n[1-9][0-9]{0,14}\n[^\n]+\n)\n((?:— ${NAME} [^ \n]+\n)+)$`);
/** What precedes the 32 bytes of a key. */
const ED25519 = 1;

/** A public key, and the sizes of the log for which it counts, both inclusive. */
export interface LogKey {
  /** As it is published: `<name>+<id>+<base64>`. */
  text: string;
  name: string;
  /** Eight hexadecimal digits. */
  id: string;
  publicKey: Bytes;
  from: number;
  to: number | null;
}

/** A checkpoint whose signatures were verified. */
export interface Checkpoint extends Head {
  /** The name of the log. */
  origin: string;
  /** Ids of the keys that signed it. */
  signedBy: string[];
}

const idOf = async (bytes: Bytes): Promise<string> => toHex((await sha256(bytes)).subarray(0, 4));

/** Reads a key of the log. @throws {Refused} */
export async function parseKey(text: string, from = 1, to: number | null = null): Promise<LogKey> {
  const [, name = '', id = '', encoded = ''] = KEY.exec(text) ?? [];
  const bytes = fromBase64(encoded) ?? new Uint8Array();
  const isKey = bytes[0] === ED25519 && id === (await idOf(joined(utf8(`${name}\n`), bytes)));
  demand(isKey, `"${text}" is not a key of a log.`);
  return { text, name, id, publicKey: bytes.slice(1), from, to };
}

/** Reads the list at `/.well-known/almanac-keys.json`. @throws {Refused} */
export async function parseKeys(document: Bytes | string): Promise<LogKey[]> {
  const text = typeof document === 'string' ? document : decodeUtf8(document);
  const { keys } = membersOf(parseJson(text), 'The list of keys', ['origin', 'keys'], 'and others');
  demand(Array.isArray(keys) && keys.length > 0, 'The list of keys holds no keys.');
  return await Promise.all(
    keys.map((entry) => {
      const { key, from, to } = membersOf(entry, 'A key', ['key', 'from', 'to'], 'and others');
      const last = to === null ? null : countOf(to, 'The last size of a key', 1);
      return parseKey(textOf(key, 'A key'), countOf(from, 'The first size of a key', 1), last);
    }),
  );
}

/** Reads a checkpoint, and verifies every signature by a key that counts. @throws {Refused} */
export async function readCheckpoint(note: string, keys: readonly LogKey[]): Promise<Checkpoint> {
  const [, text = '', lines = ''] = NOTE.exec(note) ?? [];
  const [origin = '', digits = '', root64 = ''] = text.split('\n');
  const root = fromBase64(root64);
  demand(root?.length === 32, 'The checkpoint is not in the form of a checkpoint.');
  const size = Number(digits);
  const counting = keys.filter(
    ({ name, from, to }) => name === origin && from <= size && size <= (to ?? Number.POSITIVE_INFINITY),
  );
  const signedBy: string[] = [];
  for (const line of lines.slice(0, -1).split('\n')) {
    const signer = await signerOf(line, text, counting);
    if (signer !== null) signedBy.push(signer);
  }
  demand(signedBy.length > 0, `No known key has signed the checkpoint for ${size} editions of ${origin}.`);
  return { origin, size, root, signedBy };
}

/** The id of the key that signed; null for a key that does not count. */
async function signerOf(line: string, text: string, counting: readonly LogKey[]): Promise<string | null> {
  const [, name, signature = ''] = line.split(' ');
  const bytes = fromBase64(signature);
  demand(bytes !== null && bytes.length > 4, 'A signature of the checkpoint is not in base64.');
  const id = toHex(bytes.subarray(0, 4));
  const key = counting.find((one) => one.name === name && one.id === id);
  if (key === undefined) return null;
  const isValid = await isSigned(key.publicKey, utf8(text), bytes.slice(4));
  demand(isValid, `The signature of the checkpoint by the key ${id} is wrong.`);
  return id;
}
