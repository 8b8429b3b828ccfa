/**
 * What a definition misses: settings that fit no series, and countries whose rows were rejected because upstream writes
 * them in a way that the definition does not know. A country counts as lost when the run has no row of it, and an unknown
 * place is its code in another scheme, or more like its name than like any other country's. It is reported to a person and
 * never mapped automatically.
 */
import { closest, distance } from 'fastest-levenshtein';
import type { Curated } from '../../data/curated/curated.ts';
import { foldName, type PlaceTable } from '../../data/curated/places.ts';
import { ruleMatcher } from '../../data/curated/providers.ts';
import type { ProviderDefinition, SpineCountry } from '../../data/schema/curated.ts';
import { bareEntry, type CatalogueEntry, type LostPlace } from '../../data/schema/lake.ts';

/** Two names of this length or more may differ by one letter in `LETTERS_PER_TYPO`. */
const MIN_NAME = 5;
const LETTERS_PER_TYPO = 6;
/** Words that do not tell countries apart. */
const COMMON_WORDS = new Set(
  'the of and dr dem democratic people peoples rep republic state states federation federal kingdom union fed islamic islands is'.split(
    ' ',
  ),
);

/** Names that people use and providers do not. */
const SPOKEN = 'spoken';

interface Candidate {
  country: SpineCountry;
  names: string[];
  words: string[];
}

/** The schemes by which providers write places. */
export const providerSchemes = ({ schemes }: Pick<PlaceTable, 'schemes'>): string[] =>
  [...schemes].filter((scheme) => scheme !== SPOKEN);

/**
 * @param unknown the places that were rejected as unknown, as upstream writes them
 * @param seen ISO3 codes with a row
 */
export function findLostPlaces(
  unknown: Iterable<string>,
  seen: ReadonlySet<string>,
  curated: { countries: readonly SpineCountry[]; places: PlaceTable },
): LostPlace[] {
  const isMissing = ({ iso3, enabled }: SpineCountry): boolean => enabled && !seen.has(iso3);
  const candidates = curated.countries.map(candidateOf);
  const schemes = providerSchemes(curated.places);
  const lost: LostPlace[] = [];
  for (const place of unknown) {
    const known = curated.places.resolve(schemes, place);
    const alike = known.kind === 'unknown' ? mostAlike(foldName(place), candidates) : [];
    const found =
      known.kind === 'country' ? curated.countries.filter(({ iso3 }) => iso3 === known.iso3) : alike;
    const [country, ...others] = found.filter(isMissing);
    if (country && others.length === 0) lost.push({ place, iso3: country.iso3, name: country.name });
  }
  return lost.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

const significantWords = (name: string): string[] =>
  name.split(' ').filter((word) => !COMMON_WORDS.has(word));

function candidateOf(country: SpineCountry): Candidate {
  const names = [country.name, country.official_name].filter((name) => name !== null).map(foldName);
  return { country, names, words: significantWords(names[0] ?? '') };
}

const isPartOf = (words: readonly string[], others: readonly string[]): boolean =>
  words.length > 0 && words.every((word) => others.includes(word));

/**
 * The countries that a name is like, those with rows included: what fits one of these better is no other country. They
 * are those with the name that differs least, else the one whose name is the longest part of it, else the only one of
 * whose name it is a part.
 */
function mostAlike(place: string, candidates: readonly Candidate[]): SpineCountry[] {
  const allowed = place.length < MIN_NAME ? 0 : Math.max(1, Math.floor(place.length / LETTERS_PER_TYPO));
  const differences = candidates.map(({ names }) => Math.min(...names.map((name) => distance(name, place))));
  const least = Math.min(...differences);
  const countries = candidates.map(({ country }) => country);
  if (least <= allowed) return countries.filter((_, at) => differences[at] === least);
  const words = significantWords(place);
  const contained = candidates.filter((one) => isPartOf(one.words, words));
  const longest = Math.max(...contained.map((one) => one.words.length));
  const parts = contained.filter((one) => one.words.length === longest);
  const whole = candidates.filter((one) => isPartOf(words, one.words));
  const alike = parts.length > 0 ? parts : whole;
  return alike.length === 1 ? alike.map(({ country }) => country) : [];
}

/**
 * A sentence for each.
 * @param failed slugs of series that exist and could not be read
 */
export function findUnusedSettings(
  definition: ProviderDefinition,
  curated: Pick<Curated, 'overlayRows' | 'concepts' | 'measures'>,
  catalogue: readonly CatalogueEntry[],
  failed: readonly string[],
): string[] {
  const { id, indicators, rules } = definition;
  const entries = [...catalogue, ...failed.map(bareEntry)];
  const slugs = entries.map(({ slug }) => slug);
  const named: [where: string, slug: string][] = [
    ...Object.keys(indicators).map((slug): [string, string] => ['indicators', slug]),
    ...curated.overlayRows(id).map(({ slug, line }): [string, string] => [`overlay/${id}.csv:${line}`, slug]),
    ...curated.concepts.slugsOf(id).map((slug): [string, string] => ['concept-series.csv', slug]),
    ...curated.measures.namesOf(id).map(({ slug, line }): [string, string] => [`measures.csv:${line}`, slug]),
  ];
  return [
    ...rules
      .map((rule, index) => ({ rule, index }))
      .filter(({ rule }) => !entries.some(ruleMatcher(rule)))
      .map(({ rule, index }) => `rules.${index} (${described(rule)}) matches no series`),
    ...named
      .filter(([, slug]) => !slugs.includes(slug))
      .map(
        ([where, slug]) => `${where}: there is no series "${slug}"; the nearest is "${closest(slug, slugs)}"`,
      ),
  ];
}

const described = ({ set: _, ...patterns }: ProviderDefinition['rules'][number]): string =>
  Object.entries(patterns)
    .map(([field, pattern]) => `${field}: ${pattern}`)
    .join(', ');
