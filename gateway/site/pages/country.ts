/** `/countries/{iso3}`: a country's profile by topic, and `/countries/{iso3}/{topic}`: all of one topic. */
import type { CountryRecord } from '../../../data/schema/records.ts';
import type { Edition } from '../../api/snapshot/editions/edition.ts';
import { findCountry, readProfile, readTopic } from '../country-profile.ts';
import { missingPage } from '../missing.ts';
import { definePage, type Shown } from '../page.ts';
import { topicsOf } from '../topics.ts';

const ITEMS_PER_TOPIC = 5;
const NEIGHBOURS = 3;

const ISO3 = { description: 'ISO3, ISO2 or M49 code' };

export const country = definePage({
  path: '/countries/{iso3}',
  pathParameters: { iso3: ISO3 },
  async show({ edition, path }) {
    const record = findCountry(edition, path.iso3 ?? '');
    if (record === undefined) return unknownCountry(path.iso3);
    const topics = await readProfile(edition, record.iso3, ITEMS_PER_TOPIC);
    return {
      template: 'country.njk',
      title: record.name,
      description: `${record.name} in figures: ${topics.map(({ topic }) => topic.name.toLowerCase()).join(', ')}. Latest values, ranks and histories with their sources.`,
      section: 'countries',
      canonical: `/countries/${record.iso3}`,
      picture: `/countries/${record.iso3}/card.png`,
      structured: {
        '@context': 'https://schema.org',
        '@type': 'Country',
        name: record.name,
        identifier: record.iso3,
      },
      data: { country: record, topics, neighbours: neighboursOf(edition, record) },
    };
  },
});

export const countryTopic = definePage({
  path: '/countries/{iso3}/{topic}',
  pathParameters: { iso3: ISO3, topic: { description: 'Slug of a topic' } },
  async show({ edition, path }) {
    const record = findCountry(edition, path.iso3 ?? '');
    if (record === undefined) return unknownCountry(path.iso3);
    const found = await readTopic(edition, record.iso3, path.topic ?? '');
    if (found === undefined)
      return missingPage('topic', path.topic ?? '', {
        path: `/countries/${record.iso3}`,
        label: record.name,
      });
    return {
      template: 'country-topic.njk',
      title: `${record.name}: ${found.topic.name}`,
      description: `${found.held} figures on ${found.topic.name.toLowerCase()} in ${record.name}, each with year, rank and source.`,
      section: 'countries',
      canonical: `/countries/${record.iso3}/${found.topic.slug}`,
      data: { country: record, found, topics: await topicsOf(edition) },
    };
  },
});

const unknownCountry = (sent = ''): Shown =>
  missingPage('country', sent, { path: '/countries', label: 'All countries' });

/** Countries to compare with: the next ones by name in the same subregion. */
function neighboursOf(edition: Edition, { iso3, subregion }: CountryRecord): CountryRecord[] {
  const peers = edition.countries.map(({ record }) => record).filter((peer) => peer.subregion === subregion);
  const at = peers.findIndex((peer) => peer.iso3 === iso3);
  return [...peers.slice(at + 1), ...peers.slice(0, Math.max(at, 0))].slice(0, NEIGHBOURS);
}
