/** Records of the fixture that follow from its series. */
import { TOPIC_SLUGS } from '../../data/schema/curated.ts';
import type { CountryRecord, IndicatorRecord, RelatedEntry } from '../../data/schema/records.ts';
import { compareByName } from '../../data/schema/snapshot.ts';
import { type SeriesTraits, UNDECIDED } from '../../data/schema/traits.ts';
import type { FixtureIndicator } from './fixture-data.ts';
import type { Series } from './fixture-parquet.ts';
import type { RankedRow } from './fixture-ranks.ts';

export const topicRecords = (all: Series[]) =>
  TOPIC_SLUGS.map((slug) => {
    const held = all.filter(({ record }) => record.topic === slug);
    return {
      slug,
      name: slug[0]?.toUpperCase() + slug.slice(1),
      description: `All about ${slug}.`,
      n_indicators: held.length,
      n_featured: held.filter(({ record }) => record.featured).length,
      n_countries: new Set(held.flatMap(({ rows }) => rows.filter(hasValue).map(({ iso3 }) => iso3))).size,
    };
  });

export const hasValue = ({ value }: RankedRow): boolean => value !== null;

export const byName = (countries: CountryRecord[]): CountryRecord[] =>
  countries.toSorted((a, b) => compareByName({ name: a.name, id: a.iso3 }, { name: b.name, id: b.iso3 }));

export const traitsOf = ({ measured, scale = 0 }: FixtureIndicator): { traits?: SeriesTraits } =>
  measured === undefined
    ? {}
    : {
        traits: {
          concept: null,
          sex: null,
          age: null,
          unit: null,
          scale,
          variants: [],
          measured: { ...UNDECIDED, decided_by: 'row', ...measured },
        },
      };

export const relatedTo = ({ id, name }: IndicatorRecord, all: Series[]): RelatedEntry[] =>
  all
    .filter(({ record }) => record.id !== id)
    .slice(0, 12)
    .map(({ record: other }) => ({
      id: other.id,
      name: other.name,
      topic: other.topic,
      unit: other.unit,
      relation: other.name === name ? 'same_concept' : 'related',
    }));
