/** SHA-256 and Ed25519 of WebCrypto, and bytes as text. */
import { Refused, Unsupported } from '../errors.ts';

export type Bytes = Uint8Array<ArrayBuffer>;

const ED25519 = 'Ed25519';

export const utf8 = (text: string): Bytes => new TextEncoder().encode(text);

export const toHex = (bytes: Bytes): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** @param hex an even number of hexadecimal digits */
export const fromHex = (hex: string): Bytes =>
  Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));

/** Decodes base64 in the one form that encodes these bytes; null when it is not. */
export function fromBase64(text: string): Bytes | null {
  try {
    const binary = atob(text);
    return btoa(binary) === text ? Uint8Array.from(binary, (one) => one.charCodeAt(0)) : null;
  } catch {
    return null;
  }
}

export function joined(...parts: Bytes[]): Bytes {
  const all = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

export const isSame = (one: Bytes, other: Bytes): boolean => toHex(one) === toHex(other);

type WebCrypto = typeof globalThis.crypto.subtle;

function subtle(): WebCrypto {
  // Pages without https have a `crypto` without it, whatever the types say.
  const found: WebCrypto | undefined = globalThis.crypto?.subtle;
  if (found === undefined)
    throw new Unsupported('Verifying needs WebCrypto, which browsers give to pages over https only.');
  return found;
}

export async function sha256(...parts: Bytes[]): Promise<Bytes> {
  return new Uint8Array(await subtle().digest('SHA-256', joined(...parts)));
}

/** @throws {Unsupported} where WebCrypto has no Ed25519 @throws {Refused} where the key is none */
export async function isSigned(publicKey: Bytes, text: Bytes, signature: Bytes): Promise<boolean> {
  const web = subtle();
  const key = await web.importKey('raw', publicKey, ED25519, false, ['verify']).catch((error: unknown) => {
    if (error instanceof Error && error.name === 'NotSupportedError')
      throw new Unsupported(
        'WebCrypto of this runtime has no Ed25519: Node 20, Chrome 137, Firefox 129, Safari 17.',
      );
    throw new Refused('A key of the log is not a key of Ed25519.');
  });
  return await web.verify(ED25519, key, signature, text);
}
