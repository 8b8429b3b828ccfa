/** `Idempotency-Key`: under it a priced call may be sent again without paying twice. */
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { RepeatableAs } from '../../core/call.ts';
import type { ParameterReading } from '../../operations/parameters/parameter-reader.ts';
import { toDetail } from '../../operations/parameters/validation.ts';
import type { Route } from './url-routing.ts';

const KEY = /^[A-Za-z0-9._-]{1,64}$/;
const EXPECTED = '1 to 64 of the characters A-Z a-z 0-9 . _ -';

/** A reading with the header checked like a parameter. A dry run takes no notice of it. */
export function withIdempotencyKey(
  reading: ParameterReading<unknown>,
  sent: string | string[],
): ParameterReading<unknown> {
  const key = String(sent);
  if (KEY.test(key) || (reading.ok && reading.controls.dry_run)) return reading;
  const failure = { type: 'string_pattern_mismatch', ctx: { expected: EXPECTED } } as const;
  const detail = toDetail(failure, ['header', 'idempotency-key'], key);
  return { ok: false, detail: [...(reading.ok ? [] : reading.detail), detail] };
}

/** Null without a well-formed key. */
export function repeatableAs(
  { headers, url = '' }: Pick<IncomingMessage, 'headers' | 'url'>,
  { operation }: Route,
): RepeatableAs | null {
  const sent = headers['idempotency-key'];
  if (typeof sent !== 'string' || !KEY.test(sent)) return null;
  return { key: sent, fingerprint: hash('sha256', withoutPrefix(url, operation.path), 'base64url') };
}

/** Path and query as sent, under either prefix the same. */
function withoutPrefix(url: string, template: string): string {
  const [path = ''] = url.split('?', 1);
  const segments = path.split('/');
  const start = segments.length - template.split('/').length + 1;
  return `${segments.slice(start).join('/')}${url.slice(path.length)}`;
}
