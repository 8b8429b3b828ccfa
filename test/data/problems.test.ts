/** Bad curated data is told by file, line and reason, all of it at once. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { problemsOf, SMALL, spoil } from './small-curated.ts';

const told = z.preprocess((text) => (Array.isArray(text) ? text : [text]), z.array(z.string()));
const oneCase = z.strictObject({
  what: z.string(),
  from: z.string().optional(),
  to: z.string(),
  told,
  mixes: z.boolean().default(false),
});
const table = z.record(z.string(), z.array(oneCase));

const CASES = Object.entries(
  table.parse(parse(readFileSync(join(import.meta.dirname, 'faults.yaml'), 'utf8'))),
).flatMap(([file, cases]) => cases.map((fault) => ({ file, ...fault })));

/** Each problem must begin with its text: what follows may list what else was possible. */
function expectProblems(problems: readonly string[], beginnings: readonly string[]): void {
  const cut = problems.map((problem, i) => problem.slice(0, beginnings[i]?.length));
  expect(cut).toEqual(beginnings);
}

describe('problems in curated data', () => {
  it('are not found in the valid fixture', async () => {
    expect(await problemsOf(SMALL)).toEqual([]);
  });

  it.each(CASES)('$file: $what', async (fault) => {
    expectProblems(await problemsOf(spoil([fault])), fault.told);
  });

  it.each([
    'countries.csv',
    'places.csv',
    'topics.yaml',
    'concepts.csv',
    'links.csv',
    'packs.yaml',
    'collectors.csv',
  ])('%s missing is a problem of its own', async (file) => {
    const { [file]: _, ...rest } = SMALL;
    const told = await problemsOf(rest);
    expect(told.filter((problem) => problem.startsWith(file))).toEqual([`${file}:1: the file is missing`]);
  });

  it('report a missing provider definition', async () => {
    const {
      'providers/atlas.yaml': _,
      'overlay/atlas.csv': __,
      'quality-decisions.csv': ___,
      'aliases.csv': ____,
      ...rest
    } = SMALL;
    const files = ['links.csv', 'concepts.csv', 'concept-series.csv', 'measures.csv', 'territories.csv'];
    const headers = files.map((file) => [file, `${SMALL[file]?.split('\n')[0]}\n`]);
    expect(await problemsOf({ ...rest, ...Object.fromEntries(headers) })).toEqual([
      'providers:1: there is no provider definition (*.yaml)',
    ]);
  });

  it('name the right line after cells with line breaks', async () => {
    const files = spoil([
      { file: 'overlay/atlas.csv', from: '"Use, all of it"', to: '"Use,\nall of it"' },
      { file: 'overlay/atlas.csv', from: 'gdp,economy', to: 'gdp,money' },
    ]);
    expect(await problemsOf(files)).toEqual([expect.stringMatching(/^overlay\/atlas\.csv:4: topic: /)]);
  });

  it('are reported together: any set of faults gives exactly its problems, by file and line', async () => {
    await fc.assert(
      fc.asyncProperty(fc.subarray(CASES.filter(({ mixes }) => mixes)), async (faults) => {
        const told = await problemsOf(spoil(faults));
        expectProblems(told.toSorted(), faults.flatMap((fault) => fault.told).toSorted());
        for (const problems of Map.groupBy(told, (problem) => problem.split(':')[0]).values()) {
          const numbers = problems.map((problem) => Number(problem.split(':')[1]));
          expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
        }
      }),
      { numRuns: 60 },
    );
  });
});
