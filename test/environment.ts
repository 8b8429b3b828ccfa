/** What the environment says to tests. */

/** File for the table of `parsers.test.ts`; null to write none. */
export const parserTable: string | null = process.env.PARSER_TABLE ?? null;

/** How long each kind of request is fuzzed by `raw-fuzz.extended.test.ts`. */
export const fuzzSeconds = Number(process.env.FUZZ_SECONDS ?? 5);

const { TEST_SEED = '' } = process.env;
/** Of random cases: fixed in `.ci/run`, of the day in `.ci/nightly`. Null where each test draws as it likes. */
export const SEED: number | null = TEST_SEED === '' ? null : Number(TEST_SEED);

/** Share of the cases that slow properties draw: a third, and all of them in `.ci/nightly`. */
const WIDTH = Number(process.env.TEST_WIDTH ?? 1 / 3);
export const cases = (whole: number): number => Math.ceil(whole * WIDTH);
