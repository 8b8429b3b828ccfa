/** Forms and query strings of pages: field types, parsing, links with parameters, paging, and the error a page shows. */
import { z } from 'zod';

/** An error that is shown to the user as a page with this status and message. */
export class PageError extends Error {
  override name = 'PageError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const blankToUndefined = (value: unknown): unknown => (value === '' ? undefined : value);

/** Trimmed text; empty when absent. */
export const textField = (maxLength = 500) => z.string().trim().max(maxLength).default('');

/** Text with its white space; empty when absent. */
export const untrimmedField = (maxLength: number) => z.string().max(maxLength).default('');

/** A decimal integer without sign; blank means the default. */
export const integerField = (min: number, max: number, fallback: number) =>
  z.preprocess(
    blankToUndefined,
    z
      .string()
      .regex(/^\d{1,9}$/, 'a whole number')
      .transform(Number)
      .pipe(z.int().min(min).max(max))
      .default(fallback),
  );

/** `?format=csv` asks for a list as a file. */
export const formatField = z.preprocess(blankToUndefined, z.enum(['html', 'csv']).default('html'));

/** @throws {PageError} 422 that names the first invalid field. */
export function parseFields<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const parsed = schema.safeParse(input ?? {});
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new PageError(422, `${String(issue?.path[0] ?? 'form')}: ${issue?.message ?? 'not understood'}`);
}

/** Appends the parameters that are neither blank nor 0. */
export function withQuery(path: string, parameters: Record<string, string | number>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== '' && value !== 0) query.set(name, String(value));
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** Position in a list, and the links to the previous and next page. */
export interface Pager {
  total: number;
  /** 1-based; 0 in an empty list. */
  from: number;
  to: number;
  previous: string | null;
  next: string | null;
}

export function createPager(
  path: string,
  filters: Record<string, string | number>,
  { total, limit, offset }: { total: number; limit: number; offset: number },
): Pager {
  const to = Math.min(offset + limit, total);
  return {
    total,
    from: Math.min(offset + 1, total),
    to,
    previous: offset > 0 ? withQuery(path, { ...filters, limit, offset: Math.max(0, offset - limit) }) : null,
    next: to < total ? withQuery(path, { ...filters, limit, offset: offset + limit }) : null,
  };
}
