/** `/suggest`: what the search box offers while somebody types: countries, groups and indicators. */
import { z } from 'zod';
import { findSeries, text } from '../../api/operations/operations.ts';
import type { Edition } from '../../api/snapshot/snapshot.ts';
import { pathsWithNamed, placeLinks, placesFor } from '../named-places.ts';
import { defineAsset } from '../page.ts';

const INDICATORS_MAX = 8;
const LETTERS_MAX = 100;

interface Suggestion {
  path: string;
  name: string;
  note: string;
}

export const suggest = defineAsset({
  path: '/suggest',
  query: z.object({ q: text().optional() }),
  async make({ edition, query }) {
    const typed = (query.q ?? '').trim().slice(0, LETTERS_MAX);
    const offered = typed === '' ? [] : await suggestionsFor(edition, typed);
    return { bytes: Buffer.from(JSON.stringify(offered)), mediaType: 'application/json; charset=utf-8' };
  },
});

async function suggestionsFor(edition: Edition, typed: string): Promise<Suggestion[]> {
  const found = await findSeries(edition, typed, { limit: INDICATORS_MAX, isTyping: true });
  const pathOf = await pathsWithNamed(edition, found);
  const indicators = found.hits.map(({ record }) => ({
    path: pathOf(record),
    name: record.name,
    note: record.provider.name,
  }));
  return [...placeLinks(placesFor(edition, typed, found)), ...indicators];
}
