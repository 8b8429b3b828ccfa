/**
 * Pages of an answer. A cursor names the edition, how many rows came before, and the question that it belongs to. Pages so follow
 * each other without gap or repeat, also when another edition is served meanwhile.
 */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { SNAPSHOT_ID } from '../../../data/schema/snapshot.ts';

export interface Cursor {
  edition: string;
  /** How many rows the pages before have given. */
  skip: number;
  /** Digest of the call that it came with. */
  question: string;
}

const DIGEST_LENGTH = 10;
const CURSOR = /^(?<edition>[^~]{1,60})~(?<skip>[1-9]\d{0,8})~(?<question>[\w-]{10})$/;

/** @returns null for a text that is none */
function readCursor(text: string): Cursor | null {
  const { edition, skip, question } = CURSOR.exec(text.trim())?.groups ?? {};
  if (edition === undefined || skip === undefined || question === undefined) return null;
  return SNAPSHOT_ID.test(edition) ? { edition, skip: Number(skip), question } : null;
}

export const cursorArgument = z
  .string()
  .transform((text, ctx): Cursor => {
    const cursor = readCursor(text);
    if (cursor !== null) return cursor;
    ctx.addIssue('should be the `cursor` of the page before, as it was given');
    return z.NEVER;
  })
  .optional()
  .describe('For the next page: `page.cursor` of the last one; all else the same');

export const digestQuestion = (tool: string, values: Readonly<Record<string, unknown>>): string =>
  hash('sha256', JSON.stringify([tool, values]), 'base64url').slice(0, DIGEST_LENGTH);

/** Which rows an answer gives. */
export interface Page {
  /** How many were given before. */
  skip: number;
  /** @returns the cursor of the page after so many rows */
  after: (rows: number) => string;
}

export const pageOf = (cursor: Cursor | undefined, edition: string, question: string): Page => ({
  skip: cursor?.skip ?? 0,
  after: (rows) => `${edition}~${rows}~${question}`,
});

/** Where the rows of an answer stand among all. */
export const pageMember = z
  .object({
    first: z.int(),
    last: z.int(),
    of: z.int(),
    cursor: z.string().optional().describe('Asks for the next page; absent on the last one'),
    url: z.string().optional().describe('Gives all of them over HTTP, with the same key'),
    price: z.int().optional().describe('Of that, in credits'),
  })
  .optional()
  .describe('If there are more rows');

/** @param given rows of this answer. @param of how many there are. @param whole how all are got at once */
export function paged(
  { skip, after }: Page,
  given: number,
  of: number,
  whole?: () => { url: string; price: number },
): { page?: z.infer<typeof pageMember> } {
  const last = skip + given;
  if (given === 0 || given === of) return {};
  return { page: { first: skip + 1, last, of, ...(last < of && { cursor: after(last) }), ...whole?.() } };
}
