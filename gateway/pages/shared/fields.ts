/** Reading what a query string or a form holds: shapes, and the sentence when something else was sent. */
import { z } from 'zod';
import { PageProblem } from './page-problem.ts';

const blankIsAbsent = (value: unknown): unknown => (value === '' ? undefined : value);

/** Text, cut at both ends; default empty. */
export const text = (most = 500) => z.string().trim().max(most).default('');

/** Text of several lines or with spaces that count. */
export const verbatim = (most: number) => z.string().max(most).default('');

/** A plain whole number; blank is the default. */
export const count = (least: number, most: number, fallback: number) =>
  z.preprocess(
    blankIsAbsent,
    z
      .string()
      .regex(/^\d{1,9}$/, 'a whole number')
      .transform(Number)
      .pipe(z.int().min(least).max(most))
      .default(fallback),
  );

/** `?format=csv` asks for the list as a file. */
export const format = z.preprocess(blankIsAbsent, z.enum(['html', 'csv']).default('html'));

/** @throws {PageProblem} 422 naming the first field that is not as it must be. */
export function readFields<Schema extends z.ZodType>(schema: Schema, sent: unknown): z.output<Schema> {
  const parsed = schema.safeParse(sent ?? {});
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new PageProblem(422, `${String(issue?.path[0] ?? 'form')}: ${issue?.message ?? 'not understood'}`);
}
