/**
 * JSON answers as APIs really send them: with a byte order mark, or with a page of HTML in their place.
 */
import type { Upstream } from '../upstream/upstream.ts';

/** An answer that is not what its protocol promises; the message says what came instead. */
export class ResponseError extends Error {
  override name = 'ResponseError';
}

const SAMPLE_LENGTH = 120;

/** @throws {ResponseError} when the text is not JSON, with the beginning of what came. */
export function parseJson(text: string, reference: string): unknown {
  const body = text.replace(/^\uFEFF/, '').trim();
  if (body === '') throw new ResponseError(`${reference}: an empty answer`);
  if (body.startsWith('<')) throw new ResponseError(`${reference}: a page of HTML or XML instead of JSON`);
  try {
    return JSON.parse(body);
  } catch {
    throw new ResponseError(`${reference}: not JSON, or cut off: ${body.slice(0, SAMPLE_LENGTH)}`);
  }
}

/** Fetches and parses one answer. */
export async function readJson(upstream: Upstream, reference: string): Promise<unknown> {
  return parseJson(await upstream.text(reference), reference);
}

/** A JSON object; arrays and null are none. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The trimmed text of a field, or null when it is absent, empty or no text. */
export function getText(record: unknown, field: string): string | null {
  const value = isObject(record) ? record[field] : undefined;
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}

const HTTP_NOT_FOUND = 404;

/** Whether upstream says that there is no such thing. */
export const isNotFound = (error: unknown): boolean =>
  error instanceof Error && 'status' in error && error.status === HTTP_NOT_FOUND;
