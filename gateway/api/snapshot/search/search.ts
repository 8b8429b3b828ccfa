/**
 * Filters, searches and orders indicators: by `sort` if given, else by relevance if there is a phrase, else by name.
 * Relevance has three classes, each by name: the name starts with the phrase; the name has every token; the rest.
 */
import {
  type Catalogue,
  type CatalogueItem,
  DEFAULT_DIRECTION,
  type Direction,
  fold,
  type Sort,
} from '../editions/catalogue.ts';

/** Filters of the indicator list; absent means not applied. All combine with AND. */
export interface IndicatorQuery {
  q?: string | undefined;
  topic?: string | undefined;
  provider?: string | undefined;
  featured?: boolean | undefined;
  projections?: boolean | undefined;
  sort?: Sort | undefined;
  dir?: Direction | undefined;
}

/** The distinct words of a phrase, case-folded. */
const tokenize = (phrase: string): string[] => [...new Set(fold(phrase).match(/\S+/gu))];

export function searchIndicators(catalogue: Catalogue, query: IndicatorQuery): readonly CatalogueItem[] {
  const tokens = tokenize(query.q ?? '');
  const sort = query.sort ?? 'name';
  const direction = (query.sort && query.dir) ?? DEFAULT_DIRECTION[sort];
  const listed = catalogue.listed(sort, direction, query);
  const hasAll = ({ position }: CatalogueItem): boolean =>
    tokens.every((token) => catalogue.texts[position]?.includes(token));
  const matching = tokens.length === 0 ? listed : listed.filter(hasAll);
  const isNarrowed = query.featured !== undefined || query.projections !== undefined;
  const found = isNarrowed ? matching.filter((item) => isWanted(item, query)) : matching;
  const isByRelevance = tokens.length > 0 && query.sort === undefined;
  return isByRelevance ? inRelevanceOrder(found, query.q ?? '', tokens) : found;
}

function isWanted(item: CatalogueItem, { featured, projections }: IndicatorQuery): boolean {
  return (
    (featured === undefined || item.record.featured === featured) &&
    (projections === undefined || item.hasProjections === projections)
  );
}

/** Keeps the given order, by name, within each class. */
function inRelevanceOrder(
  found: readonly CatalogueItem[],
  phrase: string,
  tokens: readonly string[],
): CatalogueItem[] {
  const start = fold(phrase).trim().replace(/\s+/gu, ' ');
  const classes: [CatalogueItem[], CatalogueItem[], CatalogueItem[]] = [[], [], []];
  for (const item of found) {
    if (item.foldedName.startsWith(start)) classes[0].push(item);
    else if (tokens.every((token) => item.foldedName.includes(token))) classes[1].push(item);
    else classes[2].push(item);
  }
  return classes.flat();
}
