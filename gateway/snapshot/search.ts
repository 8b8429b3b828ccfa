/**
 * Which indicators a list request means, and in which order.
 *
 * The order: what was asked for by `sort`; else relevance when there is a phrase; else name. Relevance has three
 * classes (the name starts with the phrase; the name holds every token; the rest), each by name.
 */
import {
  type Catalogue,
  type CatalogueItem,
  DEFAULT_DIRECTION,
  type Direction,
  fold,
  type Sort,
} from './catalogue.ts';

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

/** The words of a phrase, folded, each once. */
function tokensOf(phrase: string): string[] {
  return [
    ...new Set(
      fold(phrase)
        .split(/\s+/u)
        .filter((token) => token !== ''),
    ),
  ];
}

export function searchIndicators(catalogue: Catalogue, query: IndicatorQuery): readonly CatalogueItem[] {
  const tokens = tokensOf(query.q ?? '');
  const sort = query.sort ?? 'name';
  const direction = (query.sort && query.dir) ?? DEFAULT_DIRECTION[sort];
  const listed = catalogue.listed(sort, direction, query);
  const matching = tokens.length === 0 ? listed : holding(catalogue, listed, tokens);
  const isNarrowed = query.featured !== undefined || query.projections !== undefined;
  const found = isNarrowed ? matching.filter((item) => isWanted(item, query)) : matching;
  const byRelevance = tokens.length > 0 && query.sort === undefined;
  return byRelevance ? inRelevanceOrder(found, query.q ?? '', tokens) : found;
}

/** Those of a list that hold every token, in its order. */
function holding(
  catalogue: Catalogue,
  listed: readonly CatalogueItem[],
  tokens: readonly string[],
): CatalogueItem[] {
  const held = catalogue.words.holding(tokens);
  if (listed !== catalogue.ordered('name', 'asc')) {
    const positions = new Set(held);
    return listed.filter(({ position }) => positions.has(position));
  }
  // The whole list by name is where most searches look: its places are the positions.
  return held.flatMap((position) => listed[position] ?? []);
}

function isWanted(item: CatalogueItem, { featured, projections }: IndicatorQuery): boolean {
  return (
    (featured === undefined || item.record.featured === featured) &&
    (projections === undefined || item.hasProjections === projections)
  );
}

/** Within each class the given order, which is by name, stays. */
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
