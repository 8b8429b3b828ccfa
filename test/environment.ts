/** What the environment says to tests. */

/** File for the table of `parsers.test.ts`; null to write none. */
export const parserTable: string | null = process.env.PARSER_TABLE ?? null;

/** How long each kind of request is fuzzed by `raw-fuzz.extended.test.ts`. */
export const fuzzSeconds = Number(process.env.FUZZ_SECONDS ?? 5);
