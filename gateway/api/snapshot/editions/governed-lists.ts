/** What `include` adds to the indicators of an edition that is not served, under today's terms. */

import type { IndicatorSource, IndicatorTwin } from '../../../../data/schema/records.ts';
import type { AdditionWord } from '../../../../data/schema/snapshot.ts';
import type { LoadedLists } from './added-lists.ts';
import type { Terms, TodaysTerms } from './todays-terms.ts';

/** @param own the lists of the edition. */
export async function governedLists(
  own: LoadedLists,
  words: readonly AdditionWord[],
  ids: readonly string[],
  today: TodaysTerms,
): Promise<LoadedLists> {
  const served = await today.served.additions(words, ids);
  const texts = new Map<string, string>();
  for (const id of ids) {
    if (words.includes('sources')) texts.set(`sources ${id}`, await sourcesOf(id, own, served, today));
    if (words.includes('twins')) texts.set(`twins ${id}`, await twinsOf(id, own, today));
  }
  return { json: (word, id) => texts.get(`${word} ${id}`) ?? own.json(word, id) };
}

/** Today's sources; of an indicator that upstream no longer has, those whose licence still is the indicator's. */
async function sourcesOf(
  id: string,
  own: LoadedLists,
  served: LoadedLists,
  today: TodaysTerms,
): Promise<string> {
  if (today.served.indicator(id) !== undefined) return served.json('sources', id);
  const terms = await today.of(id);
  const sources: IndicatorSource[] = JSON.parse(own.json('sources', id));
  return JSON.stringify(sources.filter(({ licence }) => licence === terms?.licence));
}

/** The twins that may be published, with their licence. Figures of display-only series are left out. */
async function twinsOf(id: string, own: LoadedLists, today: TodaysTerms): Promise<string> {
  const isOpen = (terms: Terms | undefined): boolean => terms?.access_tier === 'open';
  const isOwnOpen = isOpen(await today.of(id));
  const twins: IndicatorTwin[] = [];
  for (const twin of JSON.parse(own.json('twins', id)) as IndicatorTwin[]) {
    const terms = await today.of(twin.id);
    if (terms === undefined) continue;
    const difference = isOwnOpen && isOpen(terms) ? twin.difference : null;
    twins.push({ ...twin, id: today.idOf(twin.id), licence: terms.licence, difference });
  }
  return JSON.stringify(twins);
}
