/** Where callers and visitors reach the service, and people who have a question its operator. Addresses end without a slash. */
import { isIP } from 'node:net';
import type { Settings } from '../../../../data/runtime/settings.ts';

type Listening = Pick<Settings, 'HOST' | 'PORT'>;

/** As the operator says, else on this machine. */
export const serviceAddress = ({
  PUBLIC_URL,
  ...listening
}: Listening & Pick<Settings, 'PUBLIC_URL'>): string =>
  PUBLIC_URL?.replace(/\/+$/, '') ?? localAddress(listening);

/** Wildcard and loopback addresses are shown as localhost. */
const LOCAL = new Set(['0.0.0.0', '::', '127.0.0.1', '::1']);

export function localAddress({ HOST, PORT }: Listening): string {
  const host = isIP(HOST) === 6 ? `[${HOST}]` : HOST;
  return `http://${LOCAL.has(HOST) ? 'localhost' : host}:${PORT}`;
}

/** The address, or the page that says how to reach the operator. @param publicUrl without a trailing slash */
export const contactOf = ({ CONTACT_EMAIL }: Pick<Settings, 'CONTACT_EMAIL'>, publicUrl: string): string =>
  CONTACT_EMAIL ?? `${publicUrl}/contact`;
