/** A country's prerendered detail, parsed so that its topic items can be filtered without formatting them again. */
import { z } from 'zod';
import { topicItem } from '../../../../data/schema/records.ts';

const countryFile = z.looseObject({
  data: z.looseObject({ topics: z.record(z.string(), z.array(topicItem)) }),
  meta: z.looseObject({ topic_counts: z.record(z.string(), z.int()) }),
});

interface Item {
  featured: boolean;
  json: string;
}

export interface CountryItems {
  /** The members of the country record as JSON, without braces. */
  recordJson: string;
  topics: readonly { slug: string; items: readonly Item[] }[];
  /** Items held per topic, as JSON; filters do not change it. */
  topicCountsJson: string;
  /** Items in all topics. */
  count: number;
  bytes: number;
}

/** Parses a country file. @throws {ZodError} when the shape is unknown. */
export function parseCountryItems(text: string): CountryItems {
  const { data, meta } = countryFile.parse(JSON.parse(text));
  const { topics, ...record } = data;
  return {
    recordJson: JSON.stringify(record).slice(1, -1),
    topics: Object.entries(topics).map(([slug, items]) => ({
      slug,
      items: items.map((item) => ({ featured: item.featured, json: JSON.stringify(item) })),
    })),
    topicCountsJson: JSON.stringify(meta.topic_counts),
    count: Object.values(topics).reduce((count, items) => count + items.length, 0),
    bytes: text.length * 2,
  };
}

export interface SelectedItems {
  topics: { slug: string; json: string[] }[];
  /** Items in all topics. */
  count: number;
}

/** The items that pass the filter, as JSON by topic; a topic without any is left out. */
export function selectItems(
  country: CountryItems,
  { featured, topic }: { featured?: boolean | undefined; topic?: string | undefined },
): SelectedItems {
  const topics = country.topics
    .filter(({ slug }) => topic === undefined || slug === topic)
    .map(({ slug, items }) => ({
      slug,
      json: items
        .filter((item) => featured === undefined || item.featured === featured)
        .map(({ json }) => json),
    }))
    .filter(({ json }) => json.length > 0);
  return { topics, count: topics.reduce((count, { json }) => count + json.length, 0) };
}
