/** `/suggest`: what the search box offers while somebody types: countries, groups and indicators; or those that a form can add. */
import { z } from 'zod';
import { findSeries, GROUP_MARK, oneOf, placesBeginning, text } from '../../api/operations/operations.ts';
import type { Edition } from '../../api/snapshot/snapshot.ts';
import { pathsWithNamed, placeLinks, placesFor } from '../named-places.ts';
import { defineAsset } from '../page.ts';

const SUGGESTIONS_MAX = 8;
const LETTERS_MAX = 100;

interface Suggestion {
  /** Where it leads, or what a form sends. */
  path?: string;
  value?: string;
  name: string;
  note: string;
}

export const suggest = defineAsset({
  path: '/suggest',
  query: z.object({
    q: text().optional(),
    /** Default all, as links. */
    only: oneOf(['countries', 'places', 'indicators']).optional(),
  }),
  async make({ edition, query }) {
    const typed = (query.q ?? '').trim().slice(0, LETTERS_MAX);
    const { only } = query;
    const offered =
      typed === ''
        ? []
        : only === 'countries' || only === 'places'
          ? await placesToAdd(edition, typed, only)
          : await suggestionsFor(edition, typed, only);
    return { bytes: Buffer.from(JSON.stringify(offered)), mediaType: 'application/json; charset=utf-8' };
  },
});

/** Countries, and with `places` also groups that have figures. */
async function placesToAdd(
  edition: Edition,
  typed: string,
  only: 'countries' | 'places',
): Promise<Suggestion[]> {
  const groups = only === 'places' ? ((await edition.groups())?.groups ?? []) : [];
  const codes = new Set(groups.map(({ id }) => GROUP_MARK + id));
  return placesBeginning(typed)
    .flatMap((one): Suggestion[] => {
      const { name } = one;
      if ('group' in one) return codes.has(one.group) ? [{ value: one.group, name, note: 'group' }] : [];
      return edition.countriesByCode.has(one.iso3) ? [{ value: one.iso3, name, note: 'country' }] : [];
    })
    .slice(0, SUGGESTIONS_MAX);
}

async function suggestionsFor(
  edition: Edition,
  typed: string,
  only: 'indicators' | undefined,
): Promise<Suggestion[]> {
  const found = await findSeries(edition, typed, { limit: SUGGESTIONS_MAX, isTyping: true });
  const pathOf = await pathsWithNamed(edition, found);
  const indicators = found.hits.map(({ record }) => ({
    ...(only ? { value: record.id } : { path: pathOf(record) }),
    name: record.name,
    note: record.provider.name,
  }));
  return only ? indicators : [...placeLinks(placesFor(edition, typed, found)), ...indicators];
}
