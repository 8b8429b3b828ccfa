/** What the environment says to tests. */

/** File for the table of `parsers.test.ts`; null to write none. */
export const parserTable: string | null = process.env.PARSER_TABLE ?? null;
