/** The latest values of one country by topic, as `/v1/countries/{iso3}` gives them, with pictures of featured series. */
import type { CountryRecord, TopicItem, TopicRecord } from '../../data/schema/records.ts';
import type { Sparkline } from '../../data/schema/snapshot.ts';
import { countryCodes } from '../api/operations/catalogue/country-groups.ts';
import type { CountryItems } from '../api/snapshot/editions/country-items.ts';
import type { Edition } from '../api/snapshot/editions/edition.ts';
import { topicsOf } from './topics.ts';

export interface ProfileItem extends TopicItem {
  sparkline: Sparkline | null;
}

export interface ProfileTopic {
  topic: TopicRecord;
  items: ProfileItem[];
  /** Items of the topic, shown or not. */
  held: number;
}

/** ISO3, ISO2 and M49 codes in any case. */
export function findCountry(edition: Edition, sent: string): CountryRecord | undefined {
  const [code = ''] = countryCodes([sent.toUpperCase()], edition);
  return edition.countriesByCode.get(code);
}

/** Up to `limit` items of each topic: featured ones first, then in the order of the topic. */
export async function readProfile(edition: Edition, iso3: string, limit: number): Promise<ProfileTopic[]> {
  const { items, topics, sparklines } = await readParts(edition, iso3);
  return topics.flatMap((topic): ProfileTopic[] => {
    const held = items.topics.find(({ slug }) => slug === topic.slug)?.items ?? [];
    const chosen = held.toSorted((a, b) => Number(b.featured) - Number(a.featured)).slice(0, limit);
    return held.length === 0 ? [] : [{ topic, held: held.length, items: parse(chosen, sparklines) }];
  });
}

/** All items of one topic; undefined where there is no such topic. */
export async function readTopic(
  edition: Edition,
  iso3: string,
  slug: string,
): Promise<ProfileTopic | undefined> {
  const { items, topics, sparklines } = await readParts(edition, iso3);
  const topic = topics.find((candidate) => candidate.slug === slug);
  if (topic === undefined) return undefined;
  const held = items.topics.find((candidate) => candidate.slug === slug)?.items ?? [];
  return { topic, held: held.length, items: parse(held, sparklines) };
}

async function readParts(edition: Edition, iso3: string) {
  const [items, topics, sparklines] = await Promise.all([
    edition.countryItems(iso3),
    topicsOf(edition),
    edition.sparklines(iso3),
  ]);
  return { items, topics, sparklines };
}

const parse = (
  items: CountryItems['topics'][number]['items'],
  sparklines: Readonly<Record<string, Sparkline>>,
): ProfileItem[] =>
  items.map(({ json }) => {
    const item = JSON.parse(json) as TopicItem;
    return { ...item, sparkline: sparklines[item.indicator] ?? null };
  });
