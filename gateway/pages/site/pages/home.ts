/** `/`: what the service is, a figure of today, search, topics, and the way to a key. */
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import type { Catalogue } from '../../../snapshot/catalogue.ts';
import { definePage } from '../page.ts';
import { latestYear, yearFigures } from '../series.ts';

const TOP = 8;

export const home = definePage({
  path: '/',
  async show({ edition }) {
    const catalogue = await edition.wholeCatalogue();
    const record = featuredIndicator(catalogue);
    const year = record && latestYear(record);
    const latest =
      record && year !== null && year !== undefined ? await yearFigures(edition, record, year) : null;
    return {
      template: 'home.njk',
      title: 'Country data you can cite, compare and compute with',
      description:
        'Country statistics of many public providers in one place: look up and compare figures, and get them through one API, each with its source, licence and proof.',
      section: 'none',
      canonical: '/',
      data: {
        featured: record && latest ? { record, year: latest.year, top: latest.figures.slice(0, TOP) } : null,
        topics: topicCounts(catalogue),
        counts: { indicators: catalogue.indicators.size, countries: edition.countries.length },
      },
    };
  },
});

/** The ranked indicator with the widest coverage, featured ones first. */
function featuredIndicator(catalogue: Catalogue): IndicatorRecord | undefined {
  const ranked = catalogue
    .ordered('coverage', 'desc')
    .map(({ record }) => record)
    .filter((record) => !record.no_rank && record.access_tier === 'open');
  return (
    ranked.find(({ id }) => id.endsWith('SP.DYN.LE00.IN')) ??
    ranked.find(({ featured }) => featured) ??
    ranked[0]
  );
}

/** By topic, how many indicators there are. */
function topicCounts(catalogue: Catalogue): { slug: string; indicators: number }[] {
  const byTopic = Map.groupBy(catalogue.ordered('topic', 'asc'), ({ record }) => record.topic);
  return [...byTopic].map(([slug, items]) => ({ slug, indicators: items.length }));
}
