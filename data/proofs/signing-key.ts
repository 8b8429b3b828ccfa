/**
 * Private keys of the log, in the form of signed notes (C2SP, Go's sumdb): `PRIVATE+KEY+<name>+<id>+<base64>` holds the
 * name of the log, the id of the key, and the byte 1 with 32 bytes of Ed25519 seed.
 */
import { createPrivateKey, createPublicKey, randomBytes, sign } from 'node:crypto';
import { type Head, keyId, NAME } from './verify-receipt.ts';

const PRIVATE_KEY = new RegExp(`^PRIVATE\\+KEY\\+(${NAME})\\+([0-9a-f]{8})\\+([A-Za-z0-9+/]{44})$`);
const ED25519 = Buffer.of(1);
/** What precedes the 32 bytes of an Ed25519 seed in DER. */
const DER_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

export type SigningKey = ReturnType<typeof fromSeed>;

/** @param name of the log, which is the origin of its checkpoints */
function fromSeed(name: string, seed: Uint8Array) {
  const der = Buffer.concat([DER_PREFIX, seed]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const bytes = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(-32);
  const id = keyId(name, bytes);
  const encoded = Buffer.concat([ED25519, bytes]).toString('base64');
  /** As verifiers take it. */
  const publicKey = `${name}+${id}+${encoded}`;
  return { name, id, publicKey, privateKey };
}

/** Makes the text of a new private key. */
export function generateSigningKey(name: string, seed: Uint8Array = randomBytes(32)): string {
  const { id } = fromSeed(name, seed);
  return `PRIVATE+KEY+${name}+${id}+${Buffer.concat([ED25519, seed]).toString('base64')}`;
}

/** @throws {TypeError} whose message does not repeat the text. */
export function parseSigningKey(text: string): SigningKey {
  const [, name = '', id = '', encoded = ''] = PRIVATE_KEY.exec(text.trim()) ?? [];
  const bytes = Buffer.from(encoded, 'base64');
  const key = bytes[0] === 1 ? fromSeed(name, bytes.subarray(1)) : null;
  if (key === null || key.id !== id)
    throw new TypeError('not a signing key: expected PRIVATE+KEY+<name>+<id>+<base64>');
  return key;
}

/** Signs the head of the log: a C2SP checkpoint. */
export const signCheckpoint = (key: SigningKey, { size, root }: Head): string =>
  signNote(key, `${key.name}\n${size}\n${root.toString('base64')}\n`);

/** Signs a text, which ends with a newline: a C2SP signed note. */
export function signNote(key: SigningKey, text: string): string {
  const signature = Buffer.concat([
    Buffer.from(key.id, 'hex'),
    sign(null, Buffer.from(text), key.privateKey),
  ]);
  return `${text}\n— ${key.name} ${signature.toString('base64')}\n`;
}
