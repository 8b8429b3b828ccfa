/** Finds settings of a definition and rows about its series that fit no series: misspelt slugs, rules that match nothing. */
import { closest } from 'fastest-levenshtein';
import type { Curated } from '../../data/curated/curated.ts';
import { ruleMatcher } from '../../data/curated/providers.ts';
import type { ProviderDefinition } from '../../data/schema/curated.ts';
import type { CatalogueEntry } from '../../data/schema/lake.ts';

/**
 * A sentence for each.
 * @param failed slugs of series that exist and could not be read
 */
export function findUnusedSettings(
  definition: ProviderDefinition,
  curated: Pick<Curated, 'overlayRows' | 'concepts'>,
  catalogue: readonly CatalogueEntry[],
  failed: readonly string[],
): string[] {
  const slugs = [...catalogue.map(({ slug }) => slug), ...failed];
  const known = new Set(slugs);
  const absent = (where: string, slug: string): string =>
    `${where}: there is no series "${slug}"; the nearest is "${closest(slug, slugs)}"`;
  const entries = [...catalogue, ...failed.map(entryOf)];
  return [
    ...definition.rules.flatMap((rule, index) => {
      const matches = ruleMatcher(rule);
      return entries.some(matches) ? [] : [`rules.${index} (${described(rule)}) matches no series`];
    }),
    ...Object.keys(definition.indicators)
      .filter((slug) => !known.has(slug))
      .map((slug) => absent('indicators', slug)),
    ...curated
      .overlayRows(definition.id)
      .filter(({ slug }) => !known.has(slug))
      .map(({ slug, line }) => absent(`overlay/${definition.id}.csv:${line}`, slug)),
    ...curated.concepts
      .slugsOf(definition.id)
      .filter((slug) => !known.has(slug))
      .map((slug) => absent('concept-series.csv', slug)),
  ];
}

/** All that is known of a series that failed. */
const entryOf = (slug: string): CatalogueEntry => ({
  slug,
  name: slug,
  description: null,
  unit: null,
  source: null,
  source_url: null,
  tags: [],
  licence: null,
});

const described = ({ set: _, ...patterns }: ProviderDefinition['rules'][number]): string =>
  Object.entries(patterns)
    .map(([field, pattern]) => `${field}: ${pattern}`)
    .join(', ');
