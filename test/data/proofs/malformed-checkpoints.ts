/** Checkpoints, lists of keys and proofs of consistency in other forms than those of docs/receipts.md. */
import { createHash, sign } from 'node:crypto';
import type { SigningKey } from '../../../data/proofs/signing-key.ts';
import type { Evidence, Genuine } from './tampering.ts';

type Change = (text: string) => string;

/** The order of Ed25519's group: a signature stays valid by its equation when this is added to its scalar. */
const ORDER = 2n ** 252n + 27_742_317_777_372_353_535_851_937_790_883_648_493n;

const idOf = ({ id }: SigningKey): Buffer => Buffer.from(id, 'hex');
const signature = ({ privateKey }: SigningKey, text: string): Buffer =>
  sign(null, Buffer.from(text), privateKey);
const line = (name: string, bytes: Buffer): string => `— ${name} ${bytes.toString('base64')}\n`;
const signedLine = (key: SigningKey, text: string): string =>
  line(key.name, Buffer.concat([idOf(key), signature(key, text)]));

/** A checkpoint that begins with `text`, whatever its form, and that the key has signed. */
const noteOf = (key: SigningKey, text: string): string => `${text}\n${signedLine(key, text)}`;

const unreduced = (bytes: Buffer): Buffer => {
  const scalar = BigInt(`0x${Buffer.from(bytes.subarray(32)).reverse().toString('hex')}`) + ORDER;
  const added = Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex').reverse();
  return Buffer.concat([bytes.subarray(0, 32), added]);
};

/** The same bytes in base64 with other spare bits; for lengths that leave some. */
const spareBits: Change = (text) =>
  text.replace(/.(?==)/, (digit) => String.fromCharCode(digit.charCodeAt(0) + 1));

/** Signed with the right key: only the form is wrong. */
const HEADS: Record<string, (origin: string, size: string, root: string) => string> = {
  'a checkpoint with the line ends of Windows': (...lines) => lines.map((one) => `${one}\r\n`).join(''),
  'a size with a leading zero': (origin, size, root) => `${origin}\n0${size}\n${root}\n`,
  'a size with a plus': (origin, size, root) => `${origin}\n+${size}\n${root}\n`,
  'a size with a fraction': (origin, size, root) => `${origin}\n${size}.0\n${root}\n`,
  'a size with a space': (origin, size, root) => `${origin}\n ${size}\n${root}\n`,
  'a size in digits of another script': (origin, _size, root) => `${origin}\n٣\n${root}\n`,
  'a size of zero': (origin, _size, root) => `${origin}\n0\n${root}\n`,
  'a size below zero': (origin, size, root) => `${origin}\n-${size}\n${root}\n`,
  'a size beyond every log': (origin, size, root) => `${origin}\n${size}${'0'.repeat(15)}\n${root}\n`,
  'a size of ten thousand digits': (origin, size, root) => `${origin}\n${size.repeat(10_000)}\n${root}\n`,
  'a root with other spare bits': (origin, size, root) => `${origin}\n${size}\n${spareBits(root)}\n`,
  'a root without padding': (origin, size, root) => `${origin}\n${size}\n${root.replace('=', '')}\n`,
  'a root with a space': (origin, size, root) => `${origin}\n${size}\n${root} \n`,
  'a root in hexadecimal digits': (origin, size, root) =>
    `${origin}\n${size}\n${Buffer.from(root, 'base64').toString('hex')}\n`,
  'a root of 33 bytes': (origin, size, root) =>
    `${origin}\n${size}\n${Buffer.concat([Buffer.from(root, 'base64'), Buffer.alloc(1)]).toString('base64')}\n`,
  'no root': (origin, size) => `${origin}\n${size}\n\n`,
  'another line in the head': (origin, size, root) => `${origin}\n${size}\n${root}\nmore\n`,
  'an empty line before the head': (origin, size, root) => `\n${origin}\n${size}\n${root}\n`,
  'no origin': (_origin, size, root) => `\n${size}\n${root}\n`,
  'an origin with a space': (origin, size, root) => `${origin} \n${size}\n${root}\n`,
};

/** Changes of a sound checkpoint. */
const NOTES: Record<string, Change> = {
  'a checkpoint that does not end its last line': (note) => note.slice(0, -1),
  'an empty line after the signatures': (note) => `${note}\n`,
  'more after the signatures': (note) => `${note}more`,
  'a line of signature with a hyphen': (note) => note.replace('—', '-'),
  'a line of signature with an en dash': (note) => note.replace('—', '–'),
  'a line of signature with two spaces': (note) => note.replace('— ', '—  '),
  'a line of signature with a tab': (note) => note.replace('— ', '—\t'),
  'a line of signature with a space at its end': (note) => note.replace(/\n$/, ' \n'),
  'a line of signature with the end of Windows': (note) => note.replace(/\n$/, '\r\n'),
  'a line of signature without a name': (note) => note.replace(/— \S+ /, '— '),
  'a signature under another name': (note) => note.replace(/— \S/, '$&x'),
  'a signature without padding': (note) => note.replace(/=\n$/, '\n'),
  'a signature with other spare bits': (note) => note.replace(/[^=\n]+=\n$/, spareBits),
  'a signature in base64 for URLs, beside a sound one': (note) => `${note}— other.example -_-_-_-_\n`,
  'a signature with a character that is not base64': (note) => note.replace(/(?<=— \S+ ....)/, '*'),
  'a line of signature that is not base64, beside a sound one': (note) => `${note}— other.example *\n`,
  'a line of signature with nothing but an id': (note) => `${note}— other.example AAAAAA==\n`,
  'a line that is no signature': (note) => `${note}signed\n`,
};

const withSignatures = ({ key, stranger, receipt }: Genuine): Record<string, string> => {
  const [head = ''] = receipt.checkpoint.split(/(?<=\n)\n/);
  const sound = signature(key, head);
  const wrong = line(key.name, Buffer.concat([idOf(key), signature(stranger, head)]));
  const of = (bytes: Buffer): string => `${head}\n${line(key.name, Buffer.concat([idOf(key), bytes]))}`;
  return {
    'a wrong signature after a sound one': `${receipt.checkpoint}${wrong}`,
    'a wrong signature before a sound one': `${head}\n${wrong}${signedLine(key, head)}`,
    'a signature of a byte less': of(sound.subarray(0, -1)),
    'a signature of a byte more': of(Buffer.concat([sound, Buffer.alloc(1)])),
    'a signature whose scalar is not reduced': of(unreduced(sound)),
    'a signature of the head with its empty line': of(signature(key, `${head}\n`)),
    'a signature of the head without its last newline': of(signature(key, head.slice(0, -1))),
    'a sound signature under another id': `${head}\n${line(key.name, Buffer.concat([idOf(stranger), sound]))}`,
  };
};

const idOfText = (text: string): string =>
  createHash('sha256').update(text, 'latin1').digest('hex').slice(0, 8);

/** Lists of keys that would let the genuine signature count, if a verifier took them. */
const keyLists = ({ key }: Genuine): Record<string, unknown> => {
  const list = (text: unknown, from: unknown = 1, to: unknown = null) => ({
    origin: key.name,
    keys: [{ key: text, from, to }],
  });
  const [name = '', id = '', encoded = ''] = key.publicKey.split(/\+(.{8})\+/);
  const bytes = Buffer.from(encoded, 'base64');
  const otherKind = Buffer.concat([Buffer.of(2), bytes.subarray(1)]);
  const longer = Buffer.concat([bytes, Buffer.alloc(3)]);
  const keyOf = (ownName: string, own: Buffer): string =>
    `${ownName}+${idOfText(`${ownName}\n${own.toString('latin1')}`)}+${own.toString('base64')}`;
  return {
    'a list without keys': { origin: key.name, keys: [] },
    'a list of keys in the member data': { data: list(key.publicKey) },
    'a list of keys that is a list': [list(key.publicKey)],
    'a list of keys without the name of the log': { keys: list(key.publicKey).keys },
    'an entry without its bounds': { origin: key.name, keys: [{ key: key.publicKey }] },
    'a key with a wrong id': list(
      `${name}+${id.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'))}+${encoded}`,
    ),
    'a key with a longer id': list(`${name}+${id}0+${encoded}`),
    'a key of another kind': list(keyOf(name, otherKind)),
    'a key that is too long': list(keyOf(name, longer)),
    'a key with a newline': list(`${key.publicKey}\n`),
    'a key with padding': list(`${key.publicKey}=`),
    'a key that is no text': list([key.publicKey]),
    'the same key under another name': list(keyOf(`${name}s`, bytes)),
    'a key from size zero': list(key.publicKey, 0),
    'a key from no size': list(key.publicKey, null),
    'a key from a size as a text': list(key.publicKey, '1'),
    'a key from true': list(key.publicKey, true),
    'a key from a size with a fraction': list(key.publicKey, 1.5),
    'a key up to a size as a text': list(key.publicKey, 1, '9'),
    'a key with a bound twice': JSON.stringify(list(key.publicKey)).replace('"to":', '"to":1,"to":'),
    'a key with an inexact bound': JSON.stringify(list(key.publicKey)).replace(
      '"from":1',
      '"from":1.00000000000000000001',
    ),
  };
};

const PROOFS: Record<string, Change> = {
  'a proof of consistency with another member': (text) => text.replace('{', '{"more":1,'),
  'a proof of consistency with a name twice': (text) => text.replace('"to":', '"to":1,"to":'),
  'a proof of consistency without a size': (text) => text.replace(/"from":\d+,/, ''),
  'a proof of consistency with a size as a text': (text) => text.replace(/"from":(\d+)/, '"from":"$1"'),
  'a proof of consistency with an inexact size': (text) =>
    text.replace(/"to":\d+/, '$&.00000000000000000001'),
  'a proof of consistency in capitals': (text) =>
    text.replace(/"[0-9a-f]{64}"/g, (hash) => hash.toUpperCase()),
  'a proof of consistency that is a list': (text) => `[${text}]`,
  'a proof of consistency that is no JSON': (text) => text.slice(1),
};

const mapped = <From, To>(record: Record<string, From>, map: (value: From) => To): Record<string, To> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));

/** @returns what a verifier must refuse, by name */
export function malformedCheckpoints(genuine: Genuine): Record<string, Evidence> {
  const { receipt, key, earlierKey } = genuine;
  const shared = { receipt: JSON.stringify(receipt), keys: JSON.stringify(genuine.keys) };
  const [origin = '', size = '', root = ''] = receipt.checkpoint.split('\n');
  const under = (checkpoint: string): Evidence => ({
    ...shared,
    receipt: JSON.stringify({ ...receipt, checkpoint }),
  });
  const proof = JSON.stringify(genuine.consistency);
  const since = { ...shared, since: genuine.earlier, consistency: proof };
  const [, earlierSize = '', earlierRoot = ''] = genuine.earlier.split('\n');
  return {
    ...mapped(HEADS, (head) => under(noteOf(key, head(origin, size, root)))),
    ...mapped(NOTES, (change) => under(change(receipt.checkpoint))),
    ...mapped(withSignatures(genuine), under),
    ...mapped(keyLists(genuine), (keys) => ({
      ...shared,
      keys: typeof keys === 'string' ? keys : JSON.stringify(keys),
    })),
    ...mapped(PROOFS, (change) => ({ ...since, consistency: change(proof) })),
    'an earlier checkpoint of another log': {
      ...since,
      since: noteOf({ ...earlierKey, name: `${origin}s` }, `${origin}s\n${earlierSize}\n${earlierRoot}\n`),
    },
    'an earlier checkpoint with the line ends of Windows': {
      ...since,
      since: genuine.earlier.replaceAll('\n', '\r\n'),
    },
    'an earlier checkpoint without signature': { ...since, since: genuine.earlier.replace(/—.*\n/, '') },
  };
}
