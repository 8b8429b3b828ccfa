/** `/indicators/{indicator_id}`: one indicator, its latest figures, and all that is known about it. */
import { z } from 'zod';
import type { IndicatorRecord, RelatedEntry } from '../../../data/schema/records.ts';
import { describedBy } from '../../api/operations/catalogue/described-by.ts';
import type { CatalogueEntry } from '../../api/snapshot/editions/catalogue.ts';
import type { Edition, IndicatorChanges } from '../../api/snapshot/editions/edition.ts';
import { callExamples } from '../call-examples.ts';
import { columnDecimals } from '../figures.ts';
import { excerptOf } from '../hits.ts';
import { chooseCountries, countryCodeList } from '../indicator/choice.ts';
import { citationsOf } from '../indicator/citations.ts';
import { comparabilityOf } from '../indicator/comparability.ts';
import { countryLinks, countryOptions, rankingRows } from '../indicator/long-lists.ts';
import { type Offers, offersOf } from '../indicator/offers.ts';
import { linesOf, mapOf } from '../indicator/pictures.ts';
import { structuredDataSet } from '../indicator/structured-data.ts';
import { missingPage } from '../missing.ts';
import { definePage, type PageInput, type Shown } from '../page.ts';
import { year } from '../parameters.ts';
import { latestYear, type YearFigures, yearFigures } from '../series.ts';
import { topicName, topicsOf } from '../topics.ts';

const CHANGES_MAX = 8;

const query = z.object({
  countries: countryCodeList().optional(),
  /** More countries, as the form sends them. */
  add: countryCodeList().optional(),
  /** Of the map. */
  year: year().optional(),
});
type Sent = z.infer<typeof query>;

export const indicator = definePage({
  path: '/indicators/{indicator_id}',
  pathParameters: { indicator_id: { description: 'Indicator id', schema: { minLength: 1 } } },
  query,
  async show(input): Promise<Shown> {
    const { edition, path } = input;
    const asked = path.indicator_id ?? '';
    const { id, alias } = edition.editions.resolve(asked);
    const entry = await edition.indicator(id);
    if (entry === undefined)
      return missingPage('indicator', asked, { path: '/indicators', label: 'All indicators' });
    const { record } = entry;
    const topic = topicName(await topicsOf(edition), record.topic);
    return {
      template: 'indicator.njk',
      title: `${record.name} by country, ${record.provider.name}`,
      description: excerptOf(`${record.description ?? record.name} ${summaryOf(record)}`),
      section: 'indicators',
      picture: `/indicators/${id}/card.png`,
      canonical: `/indicators/${id}`,
      structured: await structuredDataSet({ record, topic, edition, publicUrl: input.publicUrl }),
      data: { record, topic, formerId: alias === null ? null : asked, ...(await contents(input, entry)) },
    };
  },
});

const summaryOf = ({ coverage, provider, licence }: IndicatorRecord): string =>
  `${coverage?.n_countries ?? 0} countries, from ${provider.name} (${licence}).`;

async function contents({ edition, query: sent, publicUrl }: PageInput<Sent>, entry: CatalogueEntry) {
  const { record } = entry;
  const page = { path: `/indicators/${record.id}`, filters: { year: sent.year } };
  const newest = latestYear(record);
  const codes = chosenCodes(sent);
  // Without an excerpt, or where it is not enough, several parts of the series are needed: it is read once.
  const excerpt = await edition.excerpt(record.id);
  if (codes !== undefined || excerpt === null) await edition.observations.prepare(record.id);
  const latest = newest === null ? null : await yearFigures(edition, record, newest);
  const choice = chooseCountries(edition, codes, latest, page);
  const offers = isOpen(record) ? await offersOf(edition, record, choice.countries) : null;
  const changes = await edition.editions.history.indicatorChanges(record.id);
  return {
    latest,
    map: latest && (await mapOf(edition, record, latest, sent.year)),
    lines: latest && (await linesOf(edition, record, latest, choice.countries)),
    choice,
    countryOptions: countryOptions(edition),
    sentYear: sent.year ?? null,
    offers,
    examples: offers === null ? [] : examplesOf(offers, publicUrl),
    ...(await comparabilityOf(edition, entry)),
    related: await relatedOf(edition, record),
    history: shownChanges(changes),
    citations: await citationsOf(edition, record.id, publicUrl),
    ends: latest && endsOf(latest),
    ranking: latest && shownRanking(latest, record, excerpt?.statuses ?? new Map()),
    files: describedBy(page.path, undefined).map(({ path }) => ({
      href: path,
      name: path.slice(path.lastIndexOf('/') + 1),
    })),
  };
}

const isOpen = ({ access_tier }: IndicatorRecord): boolean => access_tier === 'open';

/** Undefined where nobody has chosen. */
function chosenCodes({ countries, add = [] }: Sent): string[] | undefined {
  if (countries === undefined && add.length === 0) return undefined;
  return [...new Set([...(countries ?? []), ...add])];
}

/** The call that gives what the page shows: the lines, or else the whole series. */
function examplesOf({ drawn, whole }: Offers, address: string) {
  const shown = drawn ?? whole;
  return shown === null ? [] : callExamples(address + shown.path);
}

async function relatedOf(edition: Edition, { id }: IndicatorRecord): Promise<RelatedEntry[]> {
  const body = await edition.indicatorBody(id);
  const { data } = JSON.parse(body.toString()) as { data: { related: RelatedEntry[] } };
  return data.related;
}

const shownChanges = ({ changes, since }: IndicatorChanges) => ({
  changes: changes.slice(0, CHANGES_MAX),
  since: since ?? null,
});

/** @param statuses of the figures by ISO3 */
function shownRanking(
  latest: YearFigures,
  { no_rank }: IndicatorRecord,
  statuses: ReadonlyMap<string, string>,
) {
  const hasBounds = latest.figures.some(({ ciLo, ciHi }) => ciLo !== null || ciHi !== null);
  const decimals = columnDecimals(latest.figures.map(({ value }) => value));
  const columns = { hasRanks: !no_rank, hasBounds, decimals, statuses };
  return { ...columns, rows: rankingRows(latest, columns), missing: countryLinks(latest.missing) };
}

/** The countries at both ends of the ranking; null where there is none. */
function endsOf({ figures }: YearFigures) {
  const ranked = figures.filter(({ rank }) => rank !== null);
  const [first, last] = [ranked[0], ranked.at(-1)];
  return first && last && first !== last ? { first, last, ranked: ranked.length } : null;
}
