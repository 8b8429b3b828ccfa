/**
 * `Prefer: handling=strict` (RFC 7240) with the headers that say what became of the parameters, and `Idempotency-Key`, under
 * which a priced call may be sent again without paying twice.
 */
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { RepeatableAs } from '../../core/call.ts';
import type { Operation } from '../../operations/operation.ts';
import type { ParameterReading } from '../../operations/parameters/parameter-reader.ts';
import { toDetail } from '../../operations/parameters/validation.ts';

const HANDLING = /^handling\s*=\s*"?([a-z]+)"?$/i;

/** Whether a `Prefer` header asks that nothing be ignored. Of a preference that is stated twice the first counts. */
export function prefersStrict(prefer: string | string[] | undefined): boolean {
  if (prefer === undefined) return false;
  for (const preference of String(prefer).split(',')) {
    const [, handling] = HANDLING.exec(preference.split(';', 1)[0]?.trim() ?? '') ?? [];
    if (handling !== undefined) return handling.toLowerCase() === 'strict';
  }
  return false;
}

/** So that twenty of them fit into a header, however they are encoded. */
const NAME_MAX = 40;
const encoded = (name: string): string => encodeURIComponent(name.slice(0, NAME_MAX).toWellFormed());

const IGNORED = 'X-Ignored-Parameters';
const APPLIED = 'Preference-Applied';

/** @param ignored names of parameters that were ignored. */
export function strictnessHeaders(isStrict: boolean, ignored: readonly string[]): string[] {
  const headers = [
    ...(isStrict ? [APPLIED, 'handling=strict'] : []),
    ...(ignored.length > 0 ? [IGNORED, ignored.map(encoded).join(', ')] : []),
  ];
  // Only where there is something to ignore does an answer depend on `Prefer`.
  return headers.length === 0
    ? []
    : [...headers, 'Vary', 'Prefer', 'Access-Control-Expose-Headers', `${APPLIED}, ${IGNORED}`];
}

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
  { path }: Pick<Operation, 'path'>,
): RepeatableAs | null {
  const sent = headers['idempotency-key'];
  if (typeof sent !== 'string' || !KEY.test(sent)) return null;
  return { key: sent, fingerprint: hash('sha256', withoutPrefix(url, path), 'base64url') };
}

/** Path and query as sent, under either prefix the same. */
function withoutPrefix(url: string, template: string): string {
  const [path = ''] = url.split('?', 1);
  const segments = path.split('/');
  const start = segments.length - template.split('/').length + 1;
  return `${segments.slice(start).join('/')}${url.slice(path.length)}`;
}
