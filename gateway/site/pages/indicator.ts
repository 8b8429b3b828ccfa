/** `/indicators/{indicator_id}`: one indicator, its latest figures, and all that is known about it. */
import { z } from 'zod';
import { describedBy, text } from '../../api/operations/operations.ts';
import type { CatalogueEntry } from '../../api/snapshot/snapshot.ts';
import { callExamples, freeFiles, indicatorOffers } from '../calls.ts';
import { DERIVED, offeredFigures, type ShownFigures, showFigures } from '../derived.ts';
import { nameWithUnit } from '../figures.ts';
import {
  citations,
  comparability,
  openOnes,
  recentChanges,
  relatedIndicators,
  structuredDataSet,
} from '../indicator/about.ts';
import { choosePlaces, otherYear, shownLines, shownYear, YEAR_VIEW } from '../indicator/shown-figures.ts';
import { firstWords, servedTopics, splitLead, topicName, withQuery } from '../lists.ts';
import { definePage, missingPage, type PageInput, type Shown } from '../page.ts';
import { countRanked, openingFigures, publishedSeries, type ShownSeries } from '../series.ts';
import { linesView, placeCodes, year } from '../subjects.ts';

/** None is an error, since a page says which it does not know. */
const places = () => text().transform(placeCodes);

const query = z.object({
  countries: places().optional(),
  /** More places, as the form sends them. */
  add: places().optional(),
  /** Of map and ranking. */
  year: year().optional(),
  ...linesView(),
  ...YEAR_VIEW,
  ...DERIVED,
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
    const { provider, coverage, licence, description } = record;
    const shown = await showFigures(edition, [entry], input.query, chosenCodes(input.query));
    const [series = await publishedSeries(edition, record)] = shown.series;
    const { name, unit } = series.record;
    const other = otherYear(series, input.query.year);
    const about = shown.formula === null ? (description ?? name) : `${nameWithUnit(name, unit)}.`;
    const topic = topicName(await servedTopics(edition), record.topic);
    return {
      template: 'indicator.njk',
      title: [`${name} by country`, ...(other === undefined ? [] : [other]), provider.name].join(', '),
      description: firstWords(
        `${about} ${coverage?.n_countries ?? 0} countries, from ${provider.name} (${licence}).`,
      ),
      section: 'indicators',
      picture: withQuery(`/indicators/${id}/card.png`, { year: other, transform: shown.filters.transform }),
      canonical: `/indicators/${id}`,
      structured: await structuredDataSet(edition, record, topic, publicUrl),
      data: {
        record: series.record,
        topic,
        formerId: alias === null ? null : asked,
        lead: splitLead(series.record.description ?? ''),
        ...(await contents(input, entry, { shown, series, other })),
      },
    };
  },
});

async function contents(
  { edition, query: sent, publicUrl }: PageInput<Sent>,
  entry: CatalogueEntry,
  { shown, series, other }: { shown: ShownFigures; series: ShownSeries; other: number | undefined },
) {
  const { record } = entry;
  const { from, to, scale: sentScale, group, sort } = sent;
  const scale = sentScale === 'log' ? sentScale : undefined;
  const derived = { year: other, group, sort, ...shown.filters };
  const filters = { ...derived, from, to, scale };
  const page = { path: `/indicators/${record.id}`, filters };
  const codes = chosenCodes(sent);
  // Without an excerpt, or where it is not enough, several parts of the series are needed: it is read once.
  const isWhole = codes !== undefined || other !== undefined || (await edition.excerpt(record.id)) === null;
  if (isWhole && shown.formula === null) await edition.observations.prepare(record.id);
  const latest = await openingFigures(edition, series);
  const choice = choosePlaces(edition, codes, latest, shown, page);
  const isOpen = record.access_tier === 'open';
  const offers = isOpen ? await indicatorOffers(edition, record, choice.codes, shown.filters) : null;
  // The call that gives what the page shows: the lines, or else the whole series.
  const shownCall = offers?.drawn ?? offers?.whole;
  const ofYear = latest && (await shownYear(edition, series, latest, { other, group, sort }));
  const about = await comparability(edition, { ...entry, record: series.record });
  const countries = choice.places.map(({ code }) => code).filter((code) => edition.countriesByCode.has(code));
  return {
    latest,
    ofYear,
    ranking: ofYear?.ranking ?? null,
    lines: latest && (await shownLines(series, choice.places, sent)),
    ranked: latest && countRanked(latest),
    choice,
    shown,
    published: record,
    credited: series.credited,
    /** Of the address, for forms and for the picture of the lines. */
    fields: { ...filters, countries: choice.codes },
    drawn: { countries: choice.codes, from, to, scale, ...shown.filters },
    /** Without years and scale of the lines, which a form chooses. */
    unscaled: { ...derived, countries: choice.codes },
    /** Of the address, without places that nobody has chosen. */
    state: { ...filters, countries: codes && choice.codes },
    offered: await offeredFigures(edition, [entry], shown),
    offers,
    free: freeFiles(record, ofYear?.year ?? null, countries),
    openTwins: isOpen ? [] : await openOnes(edition, about.twins),
    examples: shownCall ? callExamples(publicUrl + shownCall.path) : [],
    ...about,
    related: await relatedIndicators(edition, record),
    history: await recentChanges(edition, record),
    citations: await citations(edition, series.record, publicUrl, shown.formula),
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
