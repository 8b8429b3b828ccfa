/** `/indicators/{indicator_id}`: one indicator, its latest figures, and all that is known about it. */
import { z } from 'zod';
import { describedBy } from '../../api/operations/operations.ts';
import type { CatalogueEntry } from '../../api/snapshot/snapshot.ts';
import { callExamples, indicatorOffers } from '../calls.ts';
import {
  citations,
  comparability,
  recentChanges,
  relatedIndicators,
  structuredDataSet,
} from '../indicator/about.ts';
import {
  chooseCountries,
  countryCodeList,
  shownLines,
  shownMap,
  shownRanking,
} from '../indicator/shown-figures.ts';
import { firstWords, servedTopics, topicName } from '../lists.ts';
import { definePage, missingPage, type PageInput, type Shown } from '../page.ts';
import { openingFigures } from '../series.ts';
import { year } from '../subjects.ts';

const query = z.object({
  countries: countryCodeList().optional(),
  /** More countries, as the form sends them. */
  add: countryCodeList().optional(),
  /** For the map. */
  year: year().optional(),
});
type Sent = z.infer<typeof query>;

export const indicator = definePage({
  path: '/indicators/{indicator_id}',
  query,
  async show(input): Promise<Shown> {
    const { edition, path, publicUrl } = input;
    const asked = path.indicator_id ?? '';
    const { id, alias } = edition.resolve(asked);
    const entry = await edition.indicator(id);
    if (entry === undefined)
      return missingPage('indicator', asked, { path: '/indicators', label: 'All indicators' });
    const { record } = entry;
    const { name, provider, coverage, licence, description } = record;
    const topic = topicName(await servedTopics(edition), record.topic);
    return {
      template: 'indicator.njk',
      title: `${name} by country, ${provider.name}`,
      description: firstWords(
        `${description ?? name} ${coverage?.n_countries ?? 0} countries, from ${provider.name} (${licence}).`,
      ),
      section: 'indicators',
      picture: `/indicators/${id}/card.png`,
      canonical: `/indicators/${id}`,
      structured: await structuredDataSet(edition, record, topic, publicUrl),
      data: { record, topic, formerId: alias === null ? null : asked, ...(await contents(input, entry)) },
    };
  },
});

async function contents({ edition, query: sent, publicUrl }: PageInput<Sent>, entry: CatalogueEntry) {
  const { record } = entry;
  const page = { path: `/indicators/${record.id}`, filters: { year: sent.year } };
  const codes = chosenCodes(sent);
  // Without an excerpt, or where it is not enough, several parts of the series are needed: it is read once.
  const excerpt = await edition.excerpt(record.id);
  if (codes !== undefined || excerpt === null) await edition.observations.prepare(record.id);
  const latest = await openingFigures(edition, record);
  const choice = chooseCountries(edition, codes, latest, page);
  const isOpen = record.access_tier === 'open';
  const offers = isOpen ? await indicatorOffers(edition, record, choice.countries) : null;
  // The call that gives what the page shows: the lines, or else the whole series.
  const shownCall = offers?.drawn ?? offers?.whole;
  return {
    latest,
    map: latest && (await shownMap(edition, record, latest, sent.year)),
    lines: latest && (await shownLines(edition, record, latest, choice.countries)),
    choice,
    allCountries: edition.countries.map(({ record: country }) => country),
    sentYear: sent.year ?? null,
    offers,
    examples: shownCall ? callExamples(publicUrl + shownCall.path) : [],
    ...(await comparability(edition, entry)),
    related: await relatedIndicators(edition, record),
    history: await recentChanges(edition, record),
    citations: await citations(edition, record, publicUrl),
    ranking: latest && shownRanking(latest, record, excerpt?.statuses ?? new Map()),
    files: describedBy(page.path, undefined).map(({ path }) => ({
      href: path,
      name: path.slice(path.lastIndexOf('/') + 1),
    })),
  };
}

/** Undefined where nobody has chosen. */
function chosenCodes({ countries, add = [] }: Sent): string[] | undefined {
  if (countries === undefined && add.length === 0) return undefined;
  return [...new Set([...(countries ?? []), ...add])];
}
