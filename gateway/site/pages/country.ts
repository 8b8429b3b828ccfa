/** `/countries/{iso3}`: a country's profile by topic, and `/countries/{iso3}/{topic}`: all of one topic. */
import type { TopicItem } from '../../../data/schema/records.ts';
import type { SeriesOpening } from '../../../data/schema/snapshot.ts';
import type { Edition } from '../../api/snapshot/snapshot.ts';
import { servedTopics } from '../lists.ts';
import { definePage, missingPage, type Shown } from '../page.ts';
import { findCountry, findPeers } from '../subjects.ts';

const ITEMS_PER_TOPIC = 5;

/**
 * The latest values of a country by topic, as `/v1/countries/{iso3}` gives them, with pictures of featured series. Series of one
 * concept are folded below the preferred one.
 */
export async function countryTopics(edition: Edition, iso3: string) {
  const [profile, topics, sparklines, { indicators }] = await Promise.all([
    edition.countryProfile(iso3),
    servedTopics(edition),
    edition.sparklines(iso3),
    edition.wholeCatalogue(),
  ]);
  const shown = (item: TopicItem) => ({
    ...item,
    ranking: rankingOf(item, indicators.get(item.indicator)?.opening ?? null),
    sparkline: sparklines[item.indicator] ?? null,
  });
  const conceptOf = ({ indicator }: TopicItem) => indicators.get(indicator)?.traits.concept ?? indicator;
  const isPreferred = ({ indicator }: TopicItem) => indicators.get(indicator)?.record.preferred === true;
  return topics.map((topic) => {
    const held = profile.topics[topic.slug] ?? [];
    const subjects = [...Map.groupBy(held, conceptOf).values()].flatMap((series) => {
      const lead = series.find(isPreferred) ?? series[0];
      return lead ? [{ lead, twins: series.filter((item) => item !== lead) }] : [];
    });
    const withTwins = (some: typeof subjects) =>
      some.map(({ lead, twins }) => ({ ...shown(lead), twins: twins.map(shown) }));
    return {
      topic,
      held: held.length,
      subjects: subjects.length,
      all: () => withTwins(subjects),
      /** Featured ones first, then in the order of the topic. */
      first: (limit: number) =>
        withTwins(
          subjects.toSorted((a, b) => Number(b.lead.featured) - Number(a.lead.featured)).slice(0, limit),
        ),
    };
  });
}

/** Null for a figure of another year than most countries have, and where the change of rank would be over other countries. */
function rankingOf({ rank, rank_delta_1y, year }: TopicItem, opening: SeriesOpening | null) {
  if (rank === null || opening === null || year !== opening.year) return null;
  return { rank, of: opening.ranked, change: opening.is_comparable ? rank_delta_1y : null };
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
        topics: topics.map(({ topic, held, subjects, first }) => ({
          topic,
          held,
          subjects,
          items: first(ITEMS_PER_TOPIC),
        })),
        peers: await findPeers(edition, record),
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
