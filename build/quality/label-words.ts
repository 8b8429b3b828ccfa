/**
 * The words of labels, `data/label-words.csv`: what they mean, by what they are used for, in the file's order. `said` is a
 * regular expression over normalised text; a `$1` in `means` stands for the groups that matched.
 */
import { fileURLToPath } from 'node:url';
import { Problems, readTable } from '../../data/curated/table.ts';

const FILE = fileURLToPath(new URL('../../data/label-words.csv', import.meta.url));

interface LabelWord {
  use: string;
  means: string;
  said: RegExp;
}

/** @throws {CuratedError} for an expression that does not compile. */
function readWords(): LabelWord[] {
  const problems = new Problems();
  const words = readTable(FILE, ['use', 'means', 'said'], [], problems).flatMap(({ cells, ...at }) => {
    try {
      return [{ use: cells.use ?? '', means: cells.means ?? '', said: new RegExp(cells.said ?? '') }];
    } catch (error) {
      problems.add(at, `said: ${error instanceof Error ? error.message : error}`);
      return [];
    }
  });
  problems.throwIfAny();
  return words;
}

const WORDS = readWords();

/** The words of one use. */
export const wordsFor = (use: string): (readonly [said: RegExp, means: string])[] =>
  WORDS.filter((word) => word.use === use).map(({ said, means }) => [said, means]);

/** The words whose use begins so, with the rest of it. */
export const wordsOfKinds = (start: string): (readonly [kind: string, means: string, said: RegExp])[] =>
  WORDS.filter(({ use }) => use.startsWith(start)).map(({ use, means, said }) => [
    use.slice(start.length),
    means,
    said,
  ]);
