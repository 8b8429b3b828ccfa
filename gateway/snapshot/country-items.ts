/** A country's prerendered detail taken apart, so that its topic items can be filtered without formatting them again. */
import { z } from 'zod';
import { topicItem } from '../../data/schema/records.ts';

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
  /** Number of items of each topic held, as JSON; filters never change it. */
  topicCountsJson: string;
  /** Items over all topics. */
  count: number;
  bytes: number;
}

export interface CountrySelection {
  /** The `data` member of the answer. */
  json: string;
  count: number;
}

/** Takes a country file apart. @throws {ZodError} when it has not the known shape. */
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

/** The country with the items that pass; a topic left without items is left out. */
export function selectItems(
  country: CountryItems,
  filter: { featured?: boolean | undefined; topic?: string | undefined },
): CountrySelection {
  const { featured, topic } = filter;
  let count = 0;
  const members: string[] = [];
  for (const { slug, items } of country.topics) {
    if (topic !== undefined && slug !== topic) continue;
    const kept = featured === undefined ? items : items.filter((item) => item.featured === featured);
    if (kept.length === 0) continue;
    count += kept.length;
    members.push(`${JSON.stringify(slug)}:[${kept.map((item) => item.json).join(',')}]`);
  }
  return { json: `{${country.recordJson},"topics":{${members.join(',')}}}`, count };
}
