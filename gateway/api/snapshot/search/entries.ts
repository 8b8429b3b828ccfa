/** What a search finds: a concept with its series, or a series by itself, with the words that it is called by. */
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import type { CatalogueItem } from '../editions/catalogue.ts';
import { splitWords, type WordReader } from './search-words.ts';

/** How well a stem is held: in a wording, in brackets or unit, in the description. */
const HELD = { wording: 1, unit: 0.75, description: 0.35 } as const;
/** Series that may not be exported, ended and sparse ones. */
const STANDING = { display: 0.97, ended: 0.95, sparse: 0.95 } as const;
/** Fixed, so that equal figures are found in an equal order. */
const ENDED_BEFORE = 2012;
const SPARSE_COUNTRIES = 40;

export interface Wording {
  /** Its words as they are written, joined. */
  text: string;
  /** Not a name without what stands in its brackets. */
  isWhole: boolean;
  stems: ReadonlySet<string>;
  /** Of all its stems. */
  weight: number;
}

/** Something that can be found: a concept with its series, or a series by itself. */
export interface Entry {
  concept: string | null;
  /** The preferred one first. */
  items: readonly CatalogueItem[];
  wordings: Wording[];
  /** How well each stem is held. */
  held: ReadonlyMap<string, number>;
  /** What its rank is multiplied by, because of what its figures are. */
  standing: number;
}

/** Its id, with the provider and without. */
export const codesOf = ({ id }: IndicatorRecord): string[] => [
  id.toLowerCase(),
  id.slice(id.indexOf('.') + 1).toLowerCase(),
];

/** By concept, the preferred series first; a series without a concept is alone. */
const groupByConcept = (items: readonly CatalogueItem[]): CatalogueItem[][] =>
  [...Map.groupBy(items, ({ record, traits }) => traits.concept ?? record.id).values()].map((own) =>
    own.sort(
      (a, b) =>
        standingOf(b.record) - standingOf(a.record) ||
        Number(b.record.preferred) - Number(a.record.preferred),
    ),
  );

export const buildEntries = (
  items: readonly CatalogueItem[],
  concepts: ReadonlyMap<string, readonly string[]>,
  reader: WordReader,
): Entry[] => groupByConcept(items).map((own) => buildEntry(own, concepts, reader));

function buildEntry(
  items: readonly CatalogueItem[],
  concepts: ReadonlyMap<string, readonly string[]>,
  reader: WordReader,
): Entry {
  const concept = items[0]?.traits.concept ?? null;
  const held = new Map<string, number>();
  const hold = (found: readonly string[], value: number): ReadonlySet<string> => {
    const stems = new Set(found);
    for (const stem of stems) held.set(stem, Math.max(value, held.get(stem) ?? 0));
    return stems;
  };
  const names = items.map(({ record }) => record.name.replaceAll(/\([^()]*\)/g, ' '));
  const called = (concept === null ? undefined : concepts.get(concept)) ?? [];
  const whole = new Set([...called, ...items.map(({ record }) => record.name)]);
  const wordings = [...new Set([...called, ...names])].map((text) => ({
    text: splitWords(text).join(' '),
    isWhole: whole.has(text),
    stems: hold(reader.stems(text), HELD.wording),
    weight: 0,
  }));
  for (const { record } of items) {
    hold(reader.stems(`${record.name} ${record.unit ?? ''}`), HELD.unit);
    hold(reader.stemsApart(record.name), HELD.unit);
  }
  for (const { record } of items.slice(0, 1)) hold(reader.stems(record.description ?? ''), HELD.description);
  return {
    concept,
    items,
    wordings,
    held,
    standing: Math.max(...items.map(({ record }) => standingOf(record))),
  };
}

function standingOf({ access_tier, coverage }: IndicatorRecord): number {
  const { latest_year: latest = null, n_countries: countries = 0 } = coverage ?? {};
  return (
    (access_tier === 'display' ? STANDING.display : 1) *
    (latest === null || latest < ENDED_BEFORE ? STANDING.ended : 1) *
    (countries < SPARSE_COUNTRIES ? STANDING.sparse : 1)
  );
}

/** The numbers of the entries that hold a stem, and how well. */
export type Posting = [entry: number, held: number][];

export function buildPostings(entries: readonly Entry[]): Map<string, Posting> {
  const postings = new Map<string, Posting>();
  for (const [number, entry] of entries.entries())
    for (const [stem, held] of entry.held) {
      const posting = postings.get(stem);
      if (posting === undefined) postings.set(stem, [[number, held]]);
      else posting.push([number, held]);
    }
  return postings;
}
