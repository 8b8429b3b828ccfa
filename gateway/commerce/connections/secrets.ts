/**
 * What a client holds of a connection: a code, or a refresh token. Both name the connection; Redis has digests of the rest.
 *
 *   code           <connection id>.<secret>
 *   refresh token  <connection id>.<family>.<secret>
 *
 * All refresh tokens of a connection have one family, which only those who were given one know. So a token that was used long
 * ago is told from one that never existed, although Redis keeps the last two only.
 */
import { hash } from 'node:crypto';
import { type RandomBytes, randomId } from '../../api/metering/metering.ts';

const SECRET_BYTES = 32;
const ID_LENGTH = 12;
const CODE = /^(con_[0-9a-hjkmnp-tv-z]{12})\.[A-Za-z0-9_-]{43}$/;
const REFRESH_TOKEN = /^(con_[0-9a-hjkmnp-tv-z]{12})\.([A-Za-z0-9_-]{43})\.[A-Za-z0-9_-]{43}$/;

export const digestOf = (text: string): string => hash('sha256', text, 'hex');

export const newSecret = (random: RandomBytes): string => random(SECRET_BYTES).toString('base64url');

export const newConnectionId = (random: RandomBytes): string => `con_${randomId(ID_LENGTH, random)}`;

/** The connection of a code; null if the text is none. */
export const connectionOfCode = (code: string): string | null => CODE.exec(code)?.[1] ?? null;

/** Null if the text is no refresh token. */
export function parseRefreshToken(token: string): { connection_id: string; family: string } | null {
  const [, connection_id, family] = REFRESH_TOKEN.exec(token) ?? [];
  return connection_id === undefined || family === undefined ? null : { connection_id, family };
}
