/** `/suggest`: what the search box offers while somebody types: countries, groups and indicators. */
import { z } from 'zod';
import { findSeries, GROUP_MARK, placesBeginning, text } from '../../api/operations/operations.ts';
import type { Edition } from '../../api/snapshot/snapshot.ts';
import { type NamedInWords, pathWithNamed, placeLinks } from '../lists.ts';
import { defineAsset } from '../page.ts';

const COUNTRIES_MAX = 3;
const GROUPS_MAX = 2;
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
  const indicators = found.hits.map(({ record }) => ({
    path: pathWithNamed(record, found),
    name: record.name,
    note: record.provider.name,
  }));
  return [...placeLinks(placesFor(edition, typed, found)), ...indicators];
}

/** Those that the words name, and those whose names begin with them, each once. */
function placesFor(edition: Edition, typed: string, named: NamedInWords): NamedInWords {
  const beginning = placesBeginning(typed);
  const begun = {
    countries: beginning.flatMap((one) =>
      'iso3' in one && edition.countriesByCode.has(one.iso3) ? one : [],
    ),
    groups: beginning.flatMap((one) =>
      'group' in one ? { id: one.group.slice(GROUP_MARK.length), name: one.name } : [],
    ),
  };
  const countries = new Map([...named.countries, ...begun.countries].map((one) => [one.iso3, one]));
  const groups = new Map([...named.groups, ...begun.groups].map((one) => [one.id, one]));
  return {
    countries: [...countries.values()].slice(0, COUNTRIES_MAX),
    groups: [...groups.values()].slice(0, GROUPS_MAX),
    years: [],
  };
}
