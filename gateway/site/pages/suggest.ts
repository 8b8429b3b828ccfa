/** `/suggest`: what the search box offers while somebody types. */
import { z } from 'zod';
import { text } from '../../api/operations/parameters/parameters.ts';
import { type Catalogue, fold } from '../../api/snapshot/editions/catalogue.ts';
import type { Edition } from '../../api/snapshot/editions/edition.ts';
import { searchIndicators } from '../../api/snapshot/search/search.ts';
import { defineAsset } from '../page.ts';

const COUNTRIES_MAX = 3;
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
    const wanted = (query.q ?? '').trim().slice(0, LETTERS_MAX);
    const catalogue = await edition.wholeCatalogue();
    const found =
      wanted === '' ? [] : [...countriesLike(edition, wanted), ...indicatorsLike(catalogue, wanted)];
    return { bytes: Buffer.from(JSON.stringify(found)), mediaType: 'application/json; charset=utf-8' };
  },
});

/** Countries with a word that begins like it. */
function countriesLike({ countries }: Edition, wanted: string): Suggestion[] {
  const begin = fold(wanted);
  const fits = (name: string): boolean => name.startsWith(begin) || name.includes(` ${begin}`);
  return countries
    .filter(({ record }) => fits(fold(record.name)))
    .slice(0, COUNTRIES_MAX)
    .map(({ record: { iso3, name } }) => ({ path: `/countries/${iso3}`, name, note: 'country' }));
}

/** As the catalogue's own search orders them. */
const indicatorsLike = (catalogue: Catalogue, q: string): Suggestion[] =>
  searchIndicators(catalogue, { q })
    .slice(0, INDICATORS_MAX)
    .map(({ record: { id, name, provider } }) => ({ path: `/indicators/${id}`, name, note: provider.name }));
