/** The parameters `as_of`, the edition that an answer comes from, and `since`, the one after which changes are listed. */
import { z } from 'zod';
import { publishedMs } from '../../../../data/schema/editions.ts';
import { SNAPSHOT_ID } from '../../../../data/schema/snapshot.ts';
import { truncateInput } from '../../core/errors.ts';
import type { Editions } from '../../snapshot/snapshot.ts';
import { type AsOf, type Refused, refused } from '../operation.ts';
import { fail, text } from './parameters.ts';

const DAY_MS = 86_400_000;
const isoDate = z.iso.date();
const isoTimestamp = z.iso.datetime({ offset: true });

/** A query string turns the `+` of an offset into a space, unless it is escaped. */
const UNESCAPED_PLUS = / (\d{2}:\d{2})$/;

/** The moment of a date (its end, UTC) or of a timestamp with UTC offset, in Unix milliseconds; null for another text. */
export function momentIn(sent: string): number | null {
  if (isoDate.safeParse(sent).success) return Date.parse(sent) + DAY_MS - 1;
  return isoTimestamp.safeParse(sent).success ? Date.parse(sent) : null;
}

export const asOf = () =>
  momentOrEdition(
    'Answers from the newest snapshot published at or before that time that still stands: a date (its end, UTC), a timestamp with UTC offset; or from the snapshot with that id',
  );

const momentOrEdition = (description: string) =>
  text()
    .transform((raw, ctx): AsOf => {
      const sent = raw.replace(UNESCAPED_PLUS, '+$1');
      if (SNAPSHOT_ID.test(sent)) return { sent, edition: { id: sent } };
      const moment_ms = momentIn(sent);
      if (moment_ms !== null) return { sent, edition: { moment_ms } };
      const expected = 'a date (YYYY-MM-DD), a timestamp with UTC offset, or the id of a snapshot';
      return fail(ctx, { type: 'string_pattern_mismatch', ctx: { expected } });
    })
    .describe(description)
    .meta({
      type: 'string',
      anyOf: [
        { type: 'string', format: 'date' },
        { type: 'string', format: 'date-time' },
        { type: 'string', pattern: SNAPSHOT_ID.source },
      ],
      examples: ['2026-11-20'],
    });

/** `as_of` as `meta` repeats it. */
export const asOfEcho = { as_of: z.string().optional() };

/** The edition that is asked for. */
export function findEdition({ edition: query }: AsOf, editions: Editions): { edition: string } | Refused {
  const entry = editions.find(query);
  if (entry !== undefined) return entry;
  if ('id' in query)
    return refused('edition_not_found', `No snapshot has the id '${truncateInput(query.id)}'.`);
  const [first] = editions.chain;
  return refused(
    'edition_not_found',
    `There is no snapshot of that time: the first is ${first?.edition}, of ${first?.published_at}.`,
  );
}

export const since = () =>
  momentOrEdition(
    'Only what changed after that time: a date (its end, UTC), a timestamp with UTC offset, or the id of a snapshot',
  );

/** The moment that is meant, of an edition that of its publication; null for none. */
export function momentOf(sent: AsOf | undefined, { all }: Editions): number | null {
  if (sent === undefined) return null;
  const { edition: query } = sent;
  if ('moment_ms' in query) return query.moment_ms;
  const entry = all.find(({ edition }) => edition === query.id);
  return entry === undefined ? null : publishedMs(entry);
}

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
