/** The search of each catalogue, made when it is first searched: a tenth of a second for some hundred series, once an edition. */
import { fileURLToPath } from 'node:url';
import { loadConceptWords } from '../../../../data/curated/concepts.ts';
import { loadSearchWords } from '../../../../data/curated/search-words.ts';
import { Problems } from '../../../../data/curated/table.ts';
import type { Catalogue } from '../editions/catalogue.ts';
import { WordReader } from './search-words.ts';
import { SeriesSearch } from './series-search.ts';

const dataDirectory = fileURLToPath(new URL('../../../../data', import.meta.url));

interface CuratedWords {
  reader: WordReader;
  /** What each concept is called, by id. */
  concepts: ReadonlyMap<string, readonly string[]>;
}

let curated: CuratedWords | undefined;

function readCurated(): CuratedWords {
  const problems = new Problems();
  const reader = new WordReader(loadSearchWords(dataDirectory, problems));
  const concepts = loadConceptWords(dataDirectory, problems);
  problems.throwIfAny();
  return { reader, concepts: new Map(concepts.map(({ id, name, phrases }) => [id, [name, ...phrases]])) };
}

const searches = new WeakMap<Catalogue, SeriesSearch>();

export function searchFor(catalogue: Catalogue): SeriesSearch {
  const known = searches.get(catalogue);
  if (known !== undefined) return known;
  curated ??= readCurated();
  const made = new SeriesSearch(catalogue.indicators.values(), curated.concepts, curated.reader);
  searches.set(catalogue, made);
  return made;
}
