/** `/`: what the service is, what is to be told of the figures of today, search, topics, the way to a key. */
import type { Sparkline } from '../../../data/schema/snapshot.ts';
import type { Operation } from '../../api/operations/operations.ts';
import {
  type Catalogue,
  type Edition,
  exampleSeries,
  type Snapshots,
  wellKnownFirst,
} from '../../api/snapshot/snapshot.ts';
import { chooseHighlights } from '../highlights.ts';
import { oncePerEdition, servedTopics } from '../lists.ts';
import { definePage } from '../page.ts';
import type { ServiceFacts } from '../service-facts.ts';
import { peopleByCountry } from '../subjects.ts';

/** Years of a line. */
const LINE_MIN = 10;

export const home = (facts: ServiceFacts): Operation =>
  definePage({
    path: '/',
    async show({ edition }) {
      return {
        template: 'home.njk',
        title: 'Country data to cite, compare and compute with',
        description:
          'Country statistics of many public providers in one place: look up and compare figures, and get them through one API, each with its source, licence and proof.',
        section: 'none',
        canonical: '/',
        data: { facts, ...(await homeData(edition)) },
      };
    },
  });

/** @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
const homeData = oncePerEdition(async (edition) => {
  const catalogue = await edition.wholeCatalogue();
  return {
    highlights: await chooseHighlights(edition),
    topics: await drawnTopics(edition, catalogue),
    example: exampleCall(edition, catalogue),
    providers: listProviders(catalogue),
    counts: { indicators: catalogue.indicators.size, countries: edition.countries.length },
  };
});

/** Reads what the page shows of each edition when it is served. What fails is read again by the first request. */
export function readAhead(snapshots: Pick<Snapshots, 'current' | 'onSwitch'>): void {
  const read = (): void => {
    const served = snapshots.current();
    if (served) homeData(served).catch(() => {});
  };
  snapshots.onSwitch(read);
  read();
}

/** Topics that have indicators, each with a featured series of the most populous country. */
async function drawnTopics(edition: Edition, catalogue: Catalogue) {
  const people = await peopleByCountry(edition);
  const [largest] = [...people].toSorted(([, a], [, b]) => b - a).map(([iso3]) => iso3);
  const sparklines = largest === undefined ? {} : await edition.sparklines(largest);
  const place = edition.countriesByCode.get(largest ?? '')?.name ?? '';
  const topics = await servedTopics(edition);
  return topics
    .filter(({ n_indicators }) => n_indicators > 0)
    .map((topic) => {
      const items = catalogue.listed('topic', 'asc', { topic: topic.slug });
      const drawn = items.find(
        ({ record }) => record.access_tier === 'open' && isWhole(sparklines[record.id]),
      );
      const line = drawn && {
        name: `${drawn.record.name}, ${place}`,
        sparkline: sparklines[drawn.record.id],
      };
      return { ...topic, line: line ?? null };
    });
}

/** Most years have a figure, and there are enough to see a line. */
const isWhole = ({ heights }: Sparkline = { from: 0, heights: [] }): boolean =>
  heights.length >= LINE_MIN && heights.filter((height) => height !== null).length > 0.8 * heights.length;

/** Null in an edition without a ranked, open indicator. Reads no file. */
function exampleCall({ countries }: Edition, catalogue: Catalogue) {
  const found = exampleSeries({ catalogue });
  const codes = wellKnownFirst(countries.map(({ record }) => record.iso3)).join(',');
  return found && { id: found.indicator.id, codes };
}

/** By name. */
function listProviders(catalogue: Catalogue): { id: string; name: string }[] {
  const names = new Map(
    [...catalogue.indicators.values()].map(({ record: { provider } }) => [provider.id, provider.name]),
  );
  return [...names].map(([id, name]) => ({ id, name })).sort((a, b) => a.name.localeCompare(b.name, 'en'));
}
