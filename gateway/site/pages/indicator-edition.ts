/**
 * `/indicators/{indicator_id}/editions/{edition_id}`: what a citation leads to. It says the figures of one year as that edition has
 * them, what changed since, whom to credit and how to prove them. Today's decisions govern: of a series that may only be shown, the
 * figures stand on its own page alone.
 */
import { z } from 'zod';
import { findEdition } from '../../api/operations/operations.ts';
import type { CatalogueEntry, Edition } from '../../api/snapshot/snapshot.ts';
import { nameWithUnit } from '../figures.ts';
import { citations, recentChanges } from '../indicator/about.ts';
import { otherYear, shownYear } from '../indicator/shown-figures.ts';
import { withQuery } from '../lists.ts';
import { definePage, missingPage, type Shown } from '../page.ts';
import { openingFigures, publishedSeries } from '../series.ts';
import { year } from '../subjects.ts';

export const indicatorEdition = definePage({
  path: '/indicators/{indicator_id}/editions/{edition_id}',
  query: z.object({ year: year().optional() }),
  async show({ edition: served, path, query, publicUrl }): Promise<Shown> {
    const { indicator_id = '', edition_id = '' } = path;
    const found = findEdition({ sent: edition_id, edition: { id: edition_id } }, served.editions);
    const { id } = served.resolve(indicator_id);
    const today = { path: `/indicators/${id}`, label: 'The page of today' };
    if ('kind' in found) return missingPage('edition', edition_id, today);
    const edition = await served.editions.open(found);
    const entry = await edition.indicator(id);
    if (entry === undefined) return missingPage('indicator', indicator_id, today);
    const { record } = entry;
    const { name, unit, provider } = record;
    return {
      template: 'indicator-edition.njk',
      title: `${name}, edition ${edition.id}`,
      description: `${nameWithUnit(name, unit)} as published in edition ${edition.id}, from ${provider.name}.`,
      section: 'indicators',
      data: {
        record,
        shown: { formula: null },
        fields: {},
        state: null,
        cited: edition.id,
        citedAt: edition.generatedAt,
        isServed: edition.id === served.id,
        today: today.path,
        ...(await figuresThen(edition, entry, query.year)),
        ...(await changesSince(served, edition, id)),
        citations: await citations(edition, record, publicUrl, null),
        proof: withQuery('/v1/receipts', { indicator: id, as_of: edition.id }),
        call: withQuery(`/v1/indicators/${id}`, { as_of: edition.id }),
      },
    };
  },
});

/** Null where there are none, or they may not be shown here. As on other pages, those of the year that pages open on are exact. */
async function figuresThen(edition: Edition, { record }: CatalogueEntry, asked: number | undefined) {
  const series = await publishedSeries(edition, record);
  const latest = record.access_tier === 'open' ? await openingFigures(edition, series) : null;
  const ofYear = latest && (await shownYear(edition, series, latest, { other: otherYear(series, asked) }));
  return { latest, ofYear, ranking: ofYear?.ranking ?? null };
}

/** Changes of later editions; `comparedSince` where older ones were not looked at. */
async function changesSince(served: Edition, { generatedAt }: Edition, id: string) {
  const { changes, since } = await recentChanges(served, { id });
  return {
    changes: changes.filter(({ entry }) => entry.published_at > generatedAt),
    comparedSince: since !== null && since.published_at > generatedAt ? since.published_at : null,
  };
}
