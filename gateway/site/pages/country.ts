/** `/countries/{iso3}`: a country's profile by topic, and `/countries/{iso3}/{topic}`: all of one topic. */
import type { CountryRecord, TopicItem } from '../../../data/schema/records.ts';
import type { Edition } from '../../api/snapshot/snapshot.ts';
import { servedTopics } from '../lists.ts';
import { definePage, missingPage, type Shown } from '../page.ts';
import { findCountry } from '../subjects.ts';

const ITEMS_PER_TOPIC = 5;
const NEIGHBOURS = 3;

/** The latest values of a country by topic, as `/v1/countries/{iso3}` gives them, with pictures of featured series. */
export async function countryTopics(edition: Edition, iso3: string) {
  const [profile, topics, sparklines] = await Promise.all([
    edition.countryProfile(iso3),
    servedTopics(edition),
    edition.sparklines(iso3),
  ]);
  const withPicture = (item: TopicItem) => ({ ...item, sparkline: sparklines[item.indicator] ?? null });
  return topics.map((topic) => {
    const held = profile.topics[topic.slug] ?? [];
    return {
      topic,
      held: held.length,
      all: () => held.map(withPicture),
      /** Featured ones first, then in the order of the topic. */
      first: (limit: number) =>
        held
          .toSorted((a, b) => Number(b.featured) - Number(a.featured))
          .slice(0, limit)
          .map(withPicture),
    };
  });
}

export const country = definePage({
  path: '/countries/{iso3}',
  async show({ edition, path }) {
    const record = findCountry(edition, path.iso3 ?? '');
    if (record === undefined) return unknownCountry(path.iso3);
    const { iso3, name } = record;
    const topics = (await countryTopics(edition, iso3)).filter(({ held }) => held > 0);
    return {
      template: 'country.njk',
      title: name,
      description: `${name} in figures: ${topics.map(({ topic }) => topic.name.toLowerCase()).join(', ')}. Latest values, ranks and histories with their sources.`,
      section: 'countries',
      canonical: `/countries/${iso3}`,
      picture: `/countries/${iso3}/card.png`,
      structured: { '@context': 'https://schema.org', '@type': 'Country', name, identifier: iso3 },
      data: {
        country: record,
        topics: topics.map(({ topic, held, first }) => ({ topic, held, items: first(ITEMS_PER_TOPIC) })),
        neighbours: findNeighbours(edition, record),
      },
    };
  },
});

export const countryTopic = definePage({
  path: '/countries/{iso3}/{topic}',
  async show({ edition, path }) {
    const record = findCountry(edition, path.iso3 ?? '');
    if (record === undefined) return unknownCountry(path.iso3);
    const { iso3, name } = record;
    const topics = await countryTopics(edition, iso3);
    const found = topics.find(({ topic }) => topic.slug === path.topic);
    if (found === undefined)
      return missingPage('topic', path.topic ?? '', { path: `/countries/${iso3}`, label: name });
    const { topic, held } = found;
    return {
      template: 'country-topic.njk',
      title: `${name}: ${topic.name}`,
      description: `${held} figures on ${topic.name.toLowerCase()} in ${name}, each with year, rank and source.`,
      section: 'countries',
      canonical: `/countries/${iso3}/${topic.slug}`,
      data: {
        country: record,
        found: { topic, items: found.all() },
        topics: topics.map((each) => each.topic),
      },
    };
  },
});

const unknownCountry = (sent = ''): Shown =>
  missingPage('country', sent, { path: '/countries', label: 'All countries' });

/** Countries to compare with: the next ones by name in the same subregion. */
function findNeighbours(edition: Edition, { iso3, subregion }: CountryRecord): CountryRecord[] {
  const peers = edition.countries.map(({ record }) => record).filter((peer) => peer.subregion === subregion);
  const at = peers.findIndex((peer) => peer.iso3 === iso3);
  return [...peers.slice(at + 1), ...peers.slice(0, Math.max(at, 0))].slice(0, NEIGHBOURS);
}
