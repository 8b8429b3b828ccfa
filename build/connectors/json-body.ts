/** JSON responses of APIs, which may carry a byte order mark or be an HTML page. */
import type { Upstream } from '../upstream/upstream.ts';

/** A response violates its protocol; the message quotes what came instead. */
export class ResponseError extends Error {
  override name = 'ResponseError';
}

const SAMPLE_LENGTH = 120;

/** @throws {ResponseError} when the text is not JSON. */
export function parseJson(text: string, reference: string): unknown {
  const body = text.replace(/^\uFEFF/, '').trim();
  if (body === '') throw new ResponseError(`${reference}: an empty response`);
  if (body.startsWith('<')) throw new ResponseError(`${reference}: a page of HTML or XML instead of JSON`);
  try {
    return JSON.parse(body);
  } catch {
    throw new ResponseError(`${reference}: not JSON, or cut off: ${body.slice(0, SAMPLE_LENGTH)}`);
  }
}

/** Fetches and parses one response. */
export async function readJson(upstream: Upstream, reference: string): Promise<unknown> {
  return parseJson(await upstream.text(reference), reference);
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The trimmed text of a field; null when it is absent, empty or not text. Numbers become text. */
export function getText(record: unknown, field: string): string | null {
  const value = isObject(record) ? record[field] : undefined;
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}
