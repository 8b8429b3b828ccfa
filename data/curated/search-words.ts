/**
 * Reads `search-words.csv`: words and phrases that mean the same in a search. Each row gives what people say and the words
 * that are searched for instead, in phrases as in names of series, so that a row helps every series.
 */
import { join } from 'node:path';
import { type Problems, readTable, splitCell } from './table.ts';

export interface SearchWords {
  means: string;
  said: readonly string[];
}

/** @param dir the directory of curated data. */
export function loadSearchWords(dir: string, problems: Problems): SearchWords[] {
  const seen = new Set<string>();
  const rows = readTable(join(dir, 'search-words.csv'), ['means', 'said'], [], problems);
  return rows.map(({ cells, ...at }) => {
    const means = cells.means ?? '';
    const said = splitCell(cells.said);
    if (means === '' || said.includes('')) problems.add(at, 'a word or phrase is empty');
    for (const phrase of said) {
      if (seen.has(phrase)) problems.add(at, `"${phrase}" is listed twice`);
      seen.add(phrase);
    }
    return { means, said };
  });
}
