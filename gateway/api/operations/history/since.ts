/** The parameter `since`: the edition after which changes are told. */

import { truncateInput } from '../../core/errors.ts';
import type { Editions } from '../../snapshot/snapshot.ts';
import { type AsOf, type Refused, refused } from '../operation.ts';
import { momentOrEdition } from '../parameters/as-of.ts';

export const since = () =>
  momentOrEdition(
    'Only what changed after that time: a date (its end, UTC), a timestamp with UTC offset, or the id of a snapshot',
  );

/**
 * The position of that edition among those that were served; -1 for all of them. An edition that was rolled back counts as
 * the last served one before it: what it changed was taken back.
 */
export function positionOf(sent: AsOf | undefined, { all, chain }: Editions): number | Refused {
  if (sent === undefined) return -1;
  const { edition: query } = sent;
  if ('moment_ms' in query) {
    const found = chain.findLast(({ published_at }) => Date.parse(published_at) <= query.moment_ms);
    return found === undefined ? -1 : chain.indexOf(found);
  }
  let entry = all.find(({ edition }) => edition === query.id);
  if (entry === undefined)
    return refused('edition_not_found', `No snapshot has the id '${truncateInput(query.id)}'.`);
  for (;;) {
    const position = chain.findIndex(({ edition }) => edition === entry?.edition);
    if (position >= 0 || entry === undefined) return position;
    const { base }: { base: string | null } = entry;
    entry = all.find(({ edition }) => edition === base);
  }
}
