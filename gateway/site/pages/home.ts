/** `/`: what the service is, a figure of today with its map, search, topics, the way to a key. */
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import type { Operation } from '../../api/operations/operations.ts';
import { type Catalogue, type Edition, wellKnownFirst } from '../../api/snapshot/snapshot.ts';
import { ASSET_PATHS } from '../assets.ts';
import { pageMap, pictureLabels } from '../charts/frame.ts';
import { worldMap } from '../charts/map.ts';
import { columnDecimals } from '../figures.ts';
import { servedTopics } from '../lists.ts';
import { definePage } from '../page.ts';
import { openingFigures, publishedSeries } from '../series.ts';
import type { ServiceFacts } from '../service-facts.ts';

const TOP = 6;
/** Preferred where the catalogue has it, because everybody knows what it means. */
const WELL_KNOWN = '.SP.DYN.LE00.IN';

export const home = (facts: ServiceFacts): Operation =>
  definePage({
    path: '/',
    async show({ edition }) {
      const catalogue = await edition.wholeCatalogue();
      return {
        template: 'home.njk',
        title: 'Country data to cite, compare and compute with',
        description:
          'Country statistics of many public providers in one place: look up and compare figures, and get them through one API, each with its source, licence and proof.',
        section: 'none',
        canonical: '/',
        data: {
          facts,
          featured: await featuredFigures(edition, catalogue),
          topics: await servedTopics(edition),
          providers: listProviders(catalogue),
          counts: { indicators: catalogue.indicators.size, countries: edition.countries.length },
        },
      };
    },
  });

/** Null in an edition without a ranked, open indicator. */
async function featuredFigures(edition: Edition, catalogue: Catalogue) {
  const record = featuredIndicator(catalogue);
  const series = record && (await publishedSeries(edition, record));
  const latest = series === undefined ? null : await openingFigures(edition, series);
  if (series === undefined || latest === null) return null;
  const { year } = latest;
  const map = worldMap(latest, { unit: series.record.unit, outlines: ASSET_PATHS.outlines, hasTitles: true });
  const top = latest.figures.slice(0, TOP);
  const examples = wellKnownFirst(latest.figures.map(({ country }) => country.iso3));
  return {
    record: series.record,
    year,
    map: pageMap(map, pictureLabels(series, [year, year]), 'home-map'),
    legend: map.legend,
    top,
    decimals: columnDecimals(top.map(({ value }) => value)),
    query: `indicator=${series.record.id}&countries=${examples.join(',')}&from=${year - 4}`,
  };
}

function featuredIndicator(catalogue: Catalogue): IndicatorRecord | undefined {
  const ranked = catalogue
    .ordered('coverage', 'desc')
    .map(({ record }) => record)
    .filter((record) => !record.no_rank && record.access_tier === 'open');
  const known = ranked.find(({ id }) => id.endsWith(WELL_KNOWN));
  return known ?? ranked.find(({ featured }) => featured) ?? ranked[0];
}

/** By name. */
function listProviders(catalogue: Catalogue): { id: string; name: string }[] {
  const names = new Map(
    [...catalogue.indicators.values()].map(({ record: { provider } }) => [provider.id, provider.name]),
  );
  return [...names].map(([id, name]) => ({ id, name })).sort((a, b) => a.name.localeCompare(b.name, 'en'));
}
